//! CEL expressions, evaluated as the API server does it: with an admission request's variables.

use std::sync::Arc;

use cel::{Context, Env, Program};
use serde_json::Value;

/// An expression, compiled once for any number of requests.
#[allow(unreachable_pub)]
pub struct Expression {
    env: Arc<Env>,
    text: String,
    program: Program,
}

impl Expression {
    /// Compiles a text; one that is no CEL fails the test.
    #[allow(unreachable_pub)]
    pub fn new(env: &Arc<Env>, text: &str) -> Self {
        Self {
            env: Arc::clone(env),
            text: text.to_owned(),
            program: env
                .compile(text)
                .unwrap_or_else(|error| panic!("{text}: {error}")),
        }
    }

    /// Evaluates it with `object`, `oldObject` and `request`. An error fails the test: the API server
    /// would reject the request for it.
    #[allow(unreachable_pub)]
    pub fn evaluate(&self, request: &Value) -> cel::Value {
        let mut context = Context::with_env(Arc::clone(&self.env));
        for (name, value) in [
            ("object", &request["object"]),
            ("oldObject", &request["oldObject"]),
            ("request", request),
        ] {
            context
                .add_variable(name, cel::to_value(value).expect("a value"))
                .expect("a variable");
        }
        self.program
            .execute(&context)
            .unwrap_or_else(|error| panic!("{}: {error}: {request}", self.text))
    }
}
