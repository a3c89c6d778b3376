//! The same without the SDK: the least that waPC's guest library allows.

#[cfg(target_arch = "wasm32")]
mod guest {
    use wapc_guest::{CallResult, register_function};

    #[allow(unsafe_code)]
    #[unsafe(no_mangle)]
    extern "C" fn wapc_init() {
        register_function("validate", validate);
        register_function("validate_settings", validate_settings);
        register_function("protocol_version", protocol_version);
    }

    #[allow(clippy::unnecessary_wraps)]
    fn validate(_: &[u8]) -> CallResult {
        Ok(br#"{"accepted":true}"#.to_vec())
    }

    #[allow(clippy::unnecessary_wraps)]
    fn validate_settings(_: &[u8]) -> CallResult {
        Ok(br#"{"valid":true}"#.to_vec())
    }

    #[allow(clippy::unnecessary_wraps)]
    fn protocol_version(_: &[u8]) -> CallResult {
        Ok(br#""v1""#.to_vec())
    }
}
