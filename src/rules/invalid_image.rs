//! *invalid-image*: an image that can't be parsed rejects the Pod. The kubelet would report
//! `InvalidImageName` long after the Pod was accepted.
//!
//! An image ID (`sha256:…`) names an image that is on the node, and no registry is asked. It is
//! reported only if `images.requireAlways` is set, because it may be an image that these patterns
//! mean.

use crate::image::Invalid;
use crate::pod::{Entry, Pod, Pull, Sentence, What};
use crate::request::Operation;

const RULE: &str = "invalid-image";

/// Reports the images that can't be pulled. An empty image in a pod template is left to the API
/// server, because a controller may fill it in.
pub fn report(pod: &mut Pod) {
    let spec = pod.request.kind.spec_path();
    for pull in &pod.pulls {
        if !pull.is_new || pull.is_valid() || pull.settings.is_exempt {
            continue;
        }
        let (problem, help) = match pull.reference {
            Err(Invalid::EMPTY) if pod.request.operation == Operation::Template => continue,
            Err(invalid) => (invalid.problem, invalid.help),
            Ok(_) => (
                "it is an image ID, and images.requireAlways may name its image",
                "write the image's name",
            ),
        };
        let sentence = move |pull: &Pull, image: &str| {
            let name = pull.label();
            let path = pull.field_path(spec, pull.index, pull.list.image_key());
            Sentence {
                problem: format!(
                    "{name} has the invalid image \"{image}\" in {path}, because {problem}"
                ),
                help: help.to_owned(),
                repaired: None,
            }
        };
        pod.entries
            .push(Entry::new(RULE, pull.position, What::WrongImage, sentence));
    }
}
