//! A registry that fails on demand, for the end-to-end tests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// An index without images, and its digest.
const MANIFEST: &str =
    r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}"#;
const DIGEST: &str = "sha256:dff9de10919148711140d349bf03f1a99eb06f94b03e51715ccebfa7cdc518e2";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const PAGE: &str = "<!DOCTYPE html>\n<html><body>Sign in to continue</body></html>\n";
/// A text with the words of other failures, a line break and control characters of a terminal.
const MISLEADING_TEXT: &str = "gone\nWARN Policy has not been granted access; Not authorized: error sending request for url, code: 429 \u{1b}[31mnow";

/// The first part of a repository's name selects the failure: a request for `<address>/429/app:1`
/// gets the status 429. With the argument `private`, clients need a token for every image, and the
/// token server answers 503. It prints its port on 127.0.0.1, and runs until it is killed.
fn main() -> io::Result<()> {
    let is_private = std::env::args().any(|argument| argument == "private");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        thread::spawn(move || {
            // A client that closes its connection early is no error.
            let _ = stream.and_then(|stream| serve(stream, is_private));
        });
    }
    Ok(())
}

/// Serves one request, and closes the connection.
fn serve(mut stream: TcpStream, is_private: bool) -> io::Result<()> {
    let mut first = [0];
    stream.read_exact(&mut first)?;
    if !first[0].is_ascii_uppercase() {
        // Clients try TLS first. A closed connection tells them that this registry has no TLS.
        return Ok(());
    }
    let mut line = first.to_vec();
    while line.last() != Some(&b'\n') {
        stream.read_exact(&mut first)?;
        line.extend(first);
    }
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split_whitespace();
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let fault = match path
        .strip_prefix("/v2/")
        .and_then(|rest| rest.split('/').next())
    {
        None => "503",
        Some(_) if is_private => "needs-token",
        Some(fault) => fault,
    };
    if fault == "reset" {
        // The headers are still unread. If a connection with unread data is closed, the client gets
        // a reset.
        return Ok(());
    }
    for header in BufReader::new(stream.try_clone()?).lines() {
        if header?.is_empty() {
            break;
        }
    }
    stream.write_all(
        answer(fault, path, stream.local_addr()?.port())
            .to_http(method)
            .as_bytes(),
    )?;
    Ok(())
}

/// The answer to a request.
enum HttpAnswer {
    /// Status, headers, body.
    Http(&'static str, Vec<(&'static str, String)>, String),
    /// Bytes that are not HTTP, or only the start of an HTTP response.
    Bytes(&'static str),
}

impl HttpAnswer {
    fn new(status: &'static str, content_type: &str, body: &str) -> Self {
        let headers = vec![("Content-Type", content_type.to_owned())];
        Self::Http(status, headers, body.to_owned())
    }

    /// An error in the format of the OCI distribution specification.
    fn error(status: &'static str, code: &str, message: &str) -> Self {
        let body = serde_json::json!({ "errors": [{ "code": code, "message": message }] });
        Self::new(status, "application/json", &body.to_string())
    }

    fn redirect(location: &str) -> Self {
        Self::new("307 Temporary Redirect", "text/plain", "").with("Location", location)
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Http(_, headers, _) = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }

    fn to_http(&self, method: &str) -> String {
        match self {
            Self::Bytes(bytes) => (*bytes).to_owned(),
            Self::Http(status, headers, body) => {
                let mut text = format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n",
                    body.len()
                );
                for (name, value) in headers {
                    text.extend([name, ": ", value, "\r\n"]);
                }
                text.push_str("\r\n");
                if method != "HEAD" {
                    text.push_str(body);
                }
                text
            }
        }
    }
}

fn answer(fault: &str, path: &str, port: u16) -> HttpAnswer {
    const TEXT: &str = "text/plain";
    const HTML: &str = "text/html";
    let manifest = || HttpAnswer::new("200 OK", MANIFEST_TYPE, MANIFEST);
    let header = "Docker-Content-Digest";
    match fault {
        // Clients request `/v2/` to find out whether this is a registry.
        "" => HttpAnswer::new("200 OK", "application/json", "{}"),
        "works" => manifest().with(header, DIGEST),
        "no-digest" => manifest(),
        "bad-digest" => manifest().with(header, "sha256:nonsense"),
        "page" => HttpAnswer::new("200 OK", HTML, PAGE),
        "page-404" => HttpAnswer::new("404 Not Found", HTML, PAGE),
        "lies" => HttpAnswer::new("404 Not Found", TEXT, MISLEADING_TEXT),
        "400" => HttpAnswer::new("400 Bad Request", TEXT, "no"),
        "needs-token" => HttpAnswer::new("401 Unauthorized", TEXT, "no").with(
            "WWW-Authenticate",
            &format!(r#"Bearer realm="http://127.0.0.1:{port}/token",service="test""#),
        ),
        "401" => HttpAnswer::new("401 Unauthorized", TEXT, "no"),
        "403" => HttpAnswer::error(
            "403 Forbidden",
            "DENIED",
            "requested access to the resource is denied",
        ),
        // A proxy between the client and the registry.
        "403-page" => HttpAnswer::new("403 Forbidden", HTML, PAGE),
        // Artifactory.
        "403-permission" => HttpAnswer::error(
            "403 Forbidden",
            "DENIED",
            "The client does not have permission for manifest",
        ),
        // Registries that don't tell whether the image exists.
        "404-login" => HttpAnswer::error(
            "404 Not Found",
            "NAME_UNKNOWN",
            "repository does not exist or may require 'docker login'",
        ),
        "404-no-message" => HttpAnswer::new(
            "404 Not Found",
            "application/json",
            r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#,
        ),
        "410" => HttpAnswer::new("410 Gone", TEXT, "gone"),
        // Harbor, about a vulnerable image.
        "412" => HttpAnswer::error(
            "412 Precondition Failed",
            "PROJECTPOLICYVIOLATION",
            "current image with 3 vulnerabilities cannot be pulled due to configured policy",
        ),
        "429" => HttpAnswer::error(
            "429 Too Many Requests",
            "TOOMANYREQUESTS",
            "You have reached your unauthenticated pull rate limit.",
        ),
        "429-text" => HttpAnswer::new("429 Too Many Requests", TEXT, "slow down"),
        "451" => HttpAnswer::new("451 Unavailable For Legal Reasons", TEXT, "no"),
        "500" => HttpAnswer::error("500 Internal Server Error", "UNKNOWN", "unknown error"),
        "503" => HttpAnswer::new("503 Service Unavailable", HTML, PAGE),
        "redirect" => HttpAnswer::redirect("/v2/works/manifests/1"),
        "loop" => HttpAnswer::redirect(path),
        // No program listens on port 1.
        "nowhere" => HttpAnswer::redirect("http://127.0.0.1:1/"),
        "no-http" => HttpAnswer::Bytes("SSH-2.0-OpenSSH_9.2\r\n"),
        _ => HttpAnswer::error(
            "404 Not Found",
            "NAME_UNKNOWN",
            "repository name not known to registry",
        ),
    }
}
