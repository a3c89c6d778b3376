//! CEL expressions with three of the API server's variables: `object`, `oldObject` and `request`.

use std::sync::Arc;

use cel::{Context, Env, Program};
use serde_json::Value;

/// A compiled expression.
pub(crate) struct Expression {
    env: Arc<Env>,
    text: String,
    program: Program,
}

impl Expression {
    /// Compiles a text. The test fails if the text is not valid CEL.
    pub(crate) fn new(env: &Arc<Env>, text: &str) -> Self {
        Self {
            env: Arc::clone(env),
            text: text.to_owned(),
            program: env
                .compile(text)
                .unwrap_or_else(|error| panic!("{text}: {error}")),
        }
    }

    /// The value of the expression for a request. If the evaluation fails, the test fails: under
    /// `failurePolicy: Fail`, the API server would reject the request.
    pub(crate) fn evaluate(&self, request: &Value) -> cel::Value {
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
