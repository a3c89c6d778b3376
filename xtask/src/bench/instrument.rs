//! A copy of the module that says when each function begins and ends.
//!
//! Fuel is counted for the whole instance. To know which function burns it, every function gets a
//! wrapper under its own index, so that all calls, exports and tables lead to it; the function itself
//! moves behind all others. The wrappers tell the host, which reads what fuel is left. What they burn
//! themselves is known to the instruction and subtracted, so the sum is what the module burns without
//! them.
//!
//! `memory.copy` and `memory.fill` burn one instruction however much they move, so they are told as
//! well: a deep copy would not show otherwise.

use std::convert::Infallible;

use anyhow::{Context, Result, anyhow};
use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    CodeSection, EntityType, Function, FunctionSection, ImportSection, Instruction, TypeSection,
    ValType,
};
use wasmparser::{CompositeInnerType, Operator, Parser, Payload, TypeRef};

/// The imports' module.
pub(crate) const OBSERVER: &str = "observer";

/// What a wrapper burns before it reports, which its caller seems to have burnt: the beginning of a
/// function, the constant, the call.
pub(crate) const FUEL_BEFORE_ENTER: u64 = 3;

/// What it burns after that, besides one for each parameter: the calls of the function and of `exit`.
pub(crate) const FUEL_INSIDE: u64 = 2;

/// What a move burns more than the one instruction that it was.
pub(crate) const FUEL_OF_MOVE: u64 = 7;

/// The instrumented module.
pub(crate) struct Instrumented {
    /// As bytes.
    pub(crate) module: Vec<u8>,
    /// How many functions are imported; the first one with a body has this index.
    pub(crate) imported: u32,
    /// The number of parameters of each function with a body.
    pub(crate) parameters: Vec<u32>,
}

/// Instruments a module.
pub(crate) fn instrument(module: &[u8]) -> Result<Instrumented> {
    let mut instrument = Instrument::read(module)?;
    let mut output = wasm_encoder::Module::new();
    instrument
        .parse_core_module(&mut output, Parser::new(0), module)
        .map_err(|error| anyhow!("cannot instrument the module: {error}"))?;
    Ok(Instrumented {
        module: output.finish(),
        imported: instrument.imported,
        parameters: instrument.parameters,
    })
}

struct Instrument {
    /// How many types, and then three new ones.
    types: u32,
    /// How many imported functions, and then three new ones.
    imported: u32,
    /// The type of each function with a body.
    functions: Vec<u32>,
    /// The number of parameters of each function with a body.
    parameters: Vec<u32>,
}

/// The imports that are added.
const ADDED: u32 = 3;

impl Instrument {
    fn read(module: &[u8]) -> Result<Self> {
        let mut types = Vec::new();
        let mut imported = 0;
        let mut functions = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            match payload.context("not a WebAssembly module")? {
                Payload::TypeSection(section) => {
                    for group in section {
                        for ty in group?.types() {
                            types.push(match &ty.composite_type.inner {
                                CompositeInnerType::Func(function) => function.params().len(),
                                _ => 0,
                            });
                        }
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        if matches!(import?.ty, TypeRef::Func(_)) {
                            imported += 1;
                        }
                    }
                }
                Payload::FunctionSection(section) => {
                    functions = section.into_iter().collect::<Result<_, _>>()?;
                }
                _ => {}
            }
        }
        let parameters = functions
            .iter()
            .map(|&ty| {
                let count = types.get(usize::try_from(ty)?).context("no such type")?;
                Ok(u32::try_from(*count)?)
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            types: u32::try_from(types.len())?,
            imported,
            functions,
            parameters,
        })
    }

    fn count(&self) -> u32 {
        u32::try_from(self.functions.len()).unwrap_or(u32::MAX)
    }

    fn enter(&self) -> u32 {
        self.imported
    }

    fn exit(&self) -> u32 {
        self.imported + 1
    }

    fn moved(&self) -> u32 {
        self.imported + 2
    }

    fn first_wrapper(&self) -> u32 {
        self.imported + ADDED
    }

    fn first_wrapped(&self) -> u32 {
        self.first_wrapper() + self.count()
    }

    fn copy(&self) -> u32 {
        self.first_wrapped() + self.count()
    }

    fn fill(&self) -> u32 {
        self.copy() + 1
    }

    fn wrapper(&self, index: u32, parameters: u32) -> Function {
        let mut function = Function::new([]);
        function
            .instructions()
            .i32_const(index.cast_signed())
            .call(self.enter());
        for parameter in 0..parameters {
            function.instructions().local_get(parameter);
        }
        function
            .instructions()
            .call(self.first_wrapped() + index)
            .call(self.exit())
            .end();
        function
    }

    fn mover(&self, instruction: &Instruction<'_>) -> Function {
        let mut function = Function::new([]);
        function.instructions().local_get(2).call(self.moved());
        function
            .instructions()
            .local_get(0)
            .local_get(1)
            .local_get(2);
        function
            .instruction(instruction)
            .instruction(&Instruction::End);
        function
    }
}

impl Reencode for Instrument {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(if index < self.imported {
            index
        } else {
            index + ADDED
        })
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([ValType::I32], []);
        types.ty().function([], []);
        types.ty().function([ValType::I32; 3], []);
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        utils::parse_import_section(self, imports, section)?;
        imports
            .import(OBSERVER, "enter", EntityType::Function(self.types))
            .import(OBSERVER, "exit", EntityType::Function(self.types + 1))
            .import(OBSERVER, "moved", EntityType::Function(self.types));
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        _: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        for &ty in self.functions.iter().chain(&self.functions) {
            functions.function(ty);
        }
        functions.function(self.types + 2).function(self.types + 2);
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        for (index, &parameters) in (0..).zip(&self.parameters) {
            code.function(&self.wrapper(index, parameters));
        }
        utils::parse_code_section(self, code, section)?;
        code.function(&self.mover(&Instruction::MemoryCopy {
            src_mem: 0,
            dst_mem: 0,
        }));
        code.function(&self.mover(&Instruction::MemoryFill(0)));
        Ok(())
    }

    fn instruction<'a>(
        &mut self,
        operator: Operator<'a>,
    ) -> Result<Instruction<'a>, reencode::Error> {
        match operator {
            Operator::MemoryCopy { .. } => Ok(Instruction::Call(self.copy())),
            Operator::MemoryFill { .. } => Ok(Instruction::Call(self.fill())),
            operator => utils::instruction(self, operator),
        }
    }

    fn parse_custom_section(
        &mut self,
        _: &mut wasm_encoder::Module,
        _: wasmparser::CustomSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        // Names and debugging information would be wrong now.
        Ok(())
    }
}
