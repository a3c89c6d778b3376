//! CEL expressions, evaluated as the API server does it: with an admission request's variables.

use std::sync::Arc;

use cel::{Context, Env};
use serde_json::Value;

/// Evaluates an expression with `object`, `oldObject` and `request`. An error is the expression's:
/// the API server would reject the request for it.
#[allow(unreachable_pub)]
pub fn evaluate(env: &Arc<Env>, expression: &str, request: &Value) -> Result<cel::Value, String> {
    let program = env
        .compile(expression)
        .map_err(|error| format!("{expression}: {error}"))?;
    let mut context = Context::with_env(Arc::clone(env));
    for (name, value) in [
        ("object", &request["object"]),
        ("oldObject", &request["oldObject"]),
        ("request", request),
    ] {
        context
            .add_variable(
                name,
                cel::to_value(value).map_err(|error| error.to_string())?,
            )
            .map_err(|error| error.to_string())?;
    }
    program
        .execute(&context)
        .map_err(|error| format!("{expression}: {error}"))
}
