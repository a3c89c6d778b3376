//! The smallest policy that can be written with Kubewarden's SDK. It accepts every request without
//! reading the request. So no policy with this SDK needs less time: bench/policy-server.sh compares
//! times with it.

#[cfg(target_arch = "wasm32")]
mod guest {
    use kubewarden_policy_sdk::settings::Validatable;
    use kubewarden_policy_sdk::{accept_request, protocol_version_guest, validate_settings};
    use serde::Deserialize;
    use wapc_guest::{CallResult, register_function};

    #[allow(unsafe_code)]
    #[unsafe(no_mangle)]
    extern "C" fn wapc_init() {
        register_function("validate", validate);
        register_function("validate_settings", validate_settings::<Settings>);
        register_function("protocol_version", protocol_version_guest);
    }

    fn validate(_: &[u8]) -> CallResult {
        accept_request()
    }

    #[derive(Deserialize)]
    struct Settings {}

    impl Validatable for Settings {
        fn validate(&self) -> Result<(), String> {
            Ok(())
        }
    }
}
