//! The class of a failed lookup, by the text of the host's error.

use consistent_pull_policy::lookup::FailureClass;

/// Apart from the empty text, the texts have the forms of the errors of a Kubewarden 1.36 host.
#[test]
fn a_failure_is_classified_by_the_text_of_the_host() {
    let host = |text: &str| {
        format!(
            "Host error: Callback evaluation failure: Fail to interact with OCI registry: {text}\n\nCaused by:\n    {text}"
        )
    };
    let envelope = |message: &str| {
        host(&format!(
            "Registry error: url https://r/v2/a/manifests/t, envelope: OCI API errors: [OCI API error: {message}]"
        ))
    };
    let status = |code: u16, body: &str| {
        host(&format!(
            "Server error: url https://r/v2/a/manifests/t, code: {code}, message: {body}"
        ))
    };
    let cases = [
        (envelope("manifest unknown"), FailureClass::NotFound),
        (envelope("repository name not known to registry"), FailureClass::NotFound),
        (envelope("artifact team/denied:latest not found"), FailureClass::NotFound),
        (envelope("The repository with name 'a' does not exist in the registry with id '1'"), FailureClass::NotFound),
        (envelope("Tag t was deleted or has expired."), FailureClass::NotFound),
        (envelope("requested access to the resource is denied"), FailureClass::Denied),
        (envelope("authentication required"), FailureClass::Denied),
        (envelope("User: arn:aws:sts::1:assumed-role/x is not authorized to perform: ecr:BatchGetImage on resource: arn:aws:ecr:x because no identity-based policy allows it"), FailureClass::Denied),
        (envelope("You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit"), FailureClass::RateLimited),
        (envelope("too many requests"), FailureClass::RateLimited),
        (envelope("service unavailable"), FailureClass::Unreachable),
        (envelope("something else"), FailureClass::Unknown),
        (host("Not authorized: url https://r/v2/a/manifests/t"), FailureClass::Denied),
        (status(401, ""), FailureClass::Denied),
        (status(403, "<html>"), FailureClass::Denied),
        (status(404, "<html>code: 500</html>"), FailureClass::NotFound),
        (status(429, "slow down"), FailureClass::RateLimited),
        (status(500, "internal"), FailureClass::Unreachable),
        (status(503, "Not authorized: url"), FailureClass::Unreachable),
        (status(418, "teapot"), FailureClass::Unknown),
        (host("error sending request for url (https://127.0.0.1:5999/v2/a/manifests/t)"), FailureClass::Unreachable),
        ("Host error: Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.".to_owned(), FailureClass::NotGranted),
        ("Host error: Callback evaluation failure: invalid reference format".to_owned(), FailureClass::Unknown),
        ("Host error: Cannot process Wasm guest request: callback channel not provided".to_owned(), FailureClass::Unknown),
        (String::new(), FailureClass::Unknown),
    ];
    for (text, expected) in cases {
        assert_eq!(FailureClass::classify(&text), expected, "{text}");
        // If kwctl records the calls of a policy, the recording has only the first line of the
        // text. So the first line alone has to give the same class.
        let first_line = text.lines().next().unwrap_or_default();
        assert_eq!(FailureClass::classify(first_line), expected, "{first_line}");
    }
}
