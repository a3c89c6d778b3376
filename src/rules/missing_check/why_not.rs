//! Why an image that is not covered gets no check.

use crate::shown::shown;

/// The largest number of volumes in a sentence.
const FILLED_MAX: usize = 5;

/// Why no check is added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WhyNot {
    /// `imageChecks.coverage` is not `Fix`.
    NotWanted,
    /// The API server refuses some fields of Linux containers in a Windows Pod.
    Windows,
    /// The added check would be an image volume, and many of the Pod's nodes can't mount one.
    NoImageVolumes {
        /// The field of the Pod spec because of which they can't.
        beside: &'static str,
    },
    /// The added check would be an image volume, and every container is exempt.
    NoCarrier,
    /// The Pod has no check that can be copied, and there is no template.
    NothingToCopy,
    /// A check can't be copied because of a field, and there is no template.
    UnknownField {
        /// The name of the check.
        check: String,
        /// The path of the field.
        field: String,
    },
    /// The template mounts a volume, and the Pod has no init container that `imageChecks.after` names. So nothing has filled
    /// the volume.
    NoneBefore,
    /// The Pod lacks this volume of the template, so the API server would refuse it.
    NoVolume {
        /// The volume of the template.
        volume: String,
        /// The volumes that the init container of `imageChecks.after` mounts, which fills them.
        filled: Vec<String>,
    },
    /// The init container that fills the volume mounts another folder of it than the template.
    OtherSubPath {
        volume: String,
        /// The `subPath` of the init container's mount.
        sub_path: String,
        /// Its `subPathExpr`.
        sub_path_expr: String,
    },
    /// All added checks together would be too large.
    TooLarge,
}

impl WhyNot {
    /// What a person can do. `policy` is the pull policy that a check needs.
    pub(super) fn help(&self, policy: &str) -> String {
        match self {
            Self::NotWanted => format!("add an image check with this image and pull policy {policy}"),
            Self::Windows => "none is added to a Windows Pod".to_owned(),
            Self::NoImageVolumes { beside } => format!("no image volume is added beside {beside}"),
            Self::NoCarrier => "none is added, because every container is exempt".to_owned(),
            Self::NothingToCopy => {
                "none is added, because no check of this Pod can be copied and imageChecks.template is not set"
                    .to_owned()
            }
            Self::UnknownField { check, field } => {
                let (check, field) = (shown(check), shown(field));
                format!("none is added, because {check} has a field that this policy doesn't know, {field}")
            }
            Self::NoneBefore => {
                "none is added, because the Pod has no init container that imageChecks.after names".to_owned()
            }
            Self::NoVolume { volume, filled } => {
                let volume = shown(volume);
                let filled: Vec<_> = filled.iter().take(FILLED_MAX).map(|name| shown(name)).collect();
                let instead =
                    if filled.is_empty() { String::new() } else { format!(": write {} there", filled.join(" or ")) };
                format!("none is added, because the Pod lacks the volume {volume} of imageChecks.template{instead}")
            }
            Self::OtherSubPath { volume, sub_path, sub_path_expr } => {
                let mount = match (&**sub_path, &**sub_path_expr) {
                    ("", "") => "without subPath".to_owned(),
                    // Without the variables, the kubelet can't start the check.
                    ("", expression) => {
                        let expression = shown(expression);
                        format!("with subPathExpr {expression} and with the env that this needs")
                    }
                    (path, _) => format!("with subPath {}", shown(path)),
                };
                let volume = shown(volume);
                format!(
                    "none is added, because imageChecks.template would not find its program: write its mount of {volume} \
                     {mount}"
                )
            }
            Self::TooLarge => {
                "none is added, because all missing checks together would be larger than 1 MiB".to_owned()
            }
        }
    }
}
