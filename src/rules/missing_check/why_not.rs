//! Why an image that is not covered gets no check.

use crate::shown::shown;

/// Why no check is added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WhyNot {
    /// `imageChecks.onMissing` is not `Fix`.
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
    /// The template mounts a volume, and the Pod has no init container that `imageChecks.insertAfter`
    /// names. So nothing has filled the volume.
    NoneBefore,
    /// The Pod lacks this volume of the template, so the API server would refuse it.
    NoVolume {
        /// The volume of the template.
        volume: String,
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
        let because = match self {
            Self::NotWanted => {
                return format!("add an image check with this image and pull policy {policy}");
            }
            Self::Windows => return "none is added to a Windows Pod".to_owned(),
            Self::NoImageVolumes { beside } => {
                return format!("no image volume is added beside {beside}");
            }
            Self::NoCarrier => "every container is exempt".to_owned(),
            Self::NothingToCopy => {
                "no check of this Pod can be copied and imageChecks.template is not set".to_owned()
            }
            Self::UnknownField { check, field } => {
                let (check, field) = (shown(check), shown(field));
                format!("{check} has a field that this policy doesn't know, {field}")
            }
            Self::NoneBefore => {
                "the Pod has no init container that imageChecks.insertAfter names".to_owned()
            }
            Self::NoVolume { volume } => {
                let volume = shown(volume);
                format!("the Pod lacks the volume {volume} of imageChecks.template")
            }
            Self::OtherSubPath {
                volume,
                sub_path,
                sub_path_expr,
            } => {
                let volume = shown(volume);
                let mount = how_to_mount(sub_path, sub_path_expr);
                format!(
                    "imageChecks.template would not find its program: write its mount of {volume} \
                     {mount}"
                )
            }
            Self::TooLarge => "all missing checks together would be larger than 1 MiB".to_owned(),
        };
        format!("none is added, because {because}")
    }
}

/// How the template has to write its mount.
fn how_to_mount(sub_path: &str, sub_path_expr: &str) -> String {
    if !sub_path.is_empty() {
        return format!("with subPath {}", shown(sub_path));
    }
    if sub_path_expr.is_empty() {
        return "without subPath".to_owned();
    }
    // Without the variables, the kubelet can't start the check.
    let has_variable = sub_path_expr.contains('$');
    let env = if has_variable {
        " and with the env that this needs"
    } else {
        ""
    };
    format!("with subPathExpr {}{env}", shown(sub_path_expr))
}
