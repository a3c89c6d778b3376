//! The admission request: what is examined, what may be changed, and what passes untouched.

use crate::json::{Error, Reader, Result, Span};
use crate::pod::{Pod, Slot};

/// The annotation that records the changes made to an object.
pub const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";

/// The kubelet marks the Pods that mirror its static Pods with this annotation.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";
/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";

/// The kinds of objects that hold a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// v1 Pod
    Pod,
    /// v1 `PodTemplate`
    PodTemplate,
    /// batch/v1 `CronJob`
    CronJob,
    /// batch/v1 Job, whose template is immutable
    Job,
    /// apps/v1 Deployment, `StatefulSet`, `DaemonSet`, `ReplicaSet`, v1 `ReplicationController`
    Workload,
}

impl Kind {
    /// The group decides together with the kind: other groups have kinds of the same name.
    fn of(group: &str, kind: &str) -> Option<Self> {
        Some(match (group, kind) {
            ("", "Pod") => Self::Pod,
            ("", "PodTemplate") => Self::PodTemplate,
            ("", "ReplicationController")
            | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => Self::Workload,
            ("batch", "Job") => Self::Job,
            ("batch", "CronJob") => Self::CronJob,
            _ => return None,
        })
    }

    /// The keys that lead from the object to its Pod spec.
    #[must_use]
    pub const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Pod => &["spec"],
            Self::PodTemplate => &["template", "spec"],
            Self::Job | Self::Workload => &["spec", "template", "spec"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template", "spec"],
        }
    }
}

/// What a request is about, and so which rules run and what they may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A Pod is created: every rule.
    PodCreate,
    /// Images of a Pod change. Its pull policies are immutable, and its init containers have run.
    PodUpdate,
    /// Ephemeral containers are added to a Pod, through its subresource.
    EphemeralContainers,
    /// A workload is created.
    TemplateCreate,
    /// The pod template of a workload changes.
    TemplateUpdate,
}

impl Event {
    /// The Pod spec is a template: Pods are made from it later.
    #[must_use]
    pub const fn is_template(self) -> bool {
        matches!(self, Self::TemplateCreate | Self::TemplateUpdate)
    }

    /// The object is new, so that its metadata may be annotated.
    #[must_use]
    pub const fn is_create(self) -> bool {
        matches!(self, Self::PodCreate | Self::TemplateCreate)
    }

    /// Image checks and the containers that they guard are both before their first start.
    #[must_use]
    pub const fn has_checks(self) -> bool {
        matches!(
            self,
            Self::PodCreate | Self::TemplateCreate | Self::TemplateUpdate
        )
    }

    /// Whether `imagePullPolicy` may be changed: it is immutable in a Pod that exists, and the
    /// API server answers 422 to a webhook that changes it.
    #[must_use]
    pub const fn may_change_policy(self) -> bool {
        !matches!(self, Self::PodUpdate)
    }
}

/// What has to be known of an object's metadata.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Where the metadata stand.
    pub span: Option<Span>,
    /// Where the annotations stand, `null` included.
    pub annotations: Option<Span>,
    /// Where the value of [`CHANGES_ANNOTATION`] stands.
    pub changes: Option<Span>,
    mirror: bool,
    deleting: bool,
    controlled: bool,
}

/// An object that the rules examine.
#[derive(Clone, Debug)]
pub struct Review<'a> {
    /// What happens to it.
    pub event: Event,
    /// What it is.
    pub kind: Kind,
    /// The text in which all spans are.
    pub text: &'a [u8],
    /// Where the object stands.
    pub object: Span,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its Pod spec. At UPDATE of a Pod, only the places that are new or whose image changed.
    pub pod: Pod<'a>,
}

/// What becomes of a request before any rule has run.
#[derive(Clone, Debug)]
pub enum Scope<'a> {
    /// Nothing in it concerns the policy.
    Untouched,
    /// The rules decide.
    Examine(Box<Review<'a>>),
}

/// The payload of waPC's `validate`: the request, and the settings, which are read later because
/// a request that passes untouched doesn't need them.
#[derive(Clone, Debug)]
pub struct Payload<'a> {
    /// What the request is about; or why its object can't be examined.
    pub scope: Result<Scope<'a>>,
    /// Where the settings stand.
    pub settings: Option<Span>,
}

impl<'a> Payload<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// When it is not a waPC payload of Kubewarden.
    pub fn read(text: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(text);
        let mut request = None;
        let mut settings = None;
        reader.object(|reader, key| {
            match key {
                b"request" => request = Some(Request::read(reader)?),
                b"settings" => settings = Some(reader.skip()?),
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        reader.end()?;
        let request = request.ok_or_else(|| Error::missing("request"))?;
        Ok(Self {
            scope: request.scope(text),
            settings,
        })
    }
}

/// The parts of an `AdmissionRequest` that decide what is examined.
#[derive(Default)]
struct Request<'a> {
    kind: Option<Kind>,
    operation: Operation,
    sub_resource: SubResource,
    by_a_node: bool,
    object: Option<Result<Object<'a>>>,
    old_object: Option<Span>,
}

#[derive(Default, PartialEq, Eq)]
enum Operation {
    Create,
    Update,
    #[default]
    Other,
}

#[derive(Default, PartialEq, Eq)]
enum SubResource {
    #[default]
    None,
    EphemeralContainers,
    Other,
}

impl<'a> Request<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut request = Self::default();
        let mut kind = None;
        let mut object = None;
        reader.object(|reader, key| {
            match key {
                b"kind" => {
                    request.kind = group_and_kind(reader)?;
                    kind = Some(request.kind);
                }
                b"operation" => {
                    request.operation = match &*reader.string()?.value {
                        "CREATE" => Operation::Create,
                        "UPDATE" => Operation::Update,
                        _ => Operation::Other,
                    };
                }
                b"subResource" => {
                    request.sub_resource = match reader.optional_string()? {
                        Some(name) => match &*name.value {
                            "" => SubResource::None,
                            "ephemeralcontainers" => SubResource::EphemeralContainers,
                            _ => SubResource::Other,
                        },
                        None => SubResource::None,
                    };
                }
                b"userInfo" => request.by_a_node = is_in_nodes_group(reader)?,
                // Hosts write the kind before the object, so that it is read in one go.
                b"object" => match kind {
                    Some(Some(kind)) => request.object = Object::read_optional(reader, kind)?,
                    _ => object = Some(reader.skip()?),
                },
                b"oldObject" => request.old_object = Some(reader.skip()?),
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        if kind.is_none() {
            return Err(Error::missing("kind"));
        }
        if let (Some(kind), None, Some(object)) = (request.kind, &request.object, object) {
            let mut reader = Reader::at(reader.text(), object);
            request.object = Object::read_optional(&mut reader, kind)?;
        }
        Ok(request)
    }

    /// The table *Requests* of the design, in its order.
    fn scope(self, text: &'a [u8]) -> Result<Scope<'a>> {
        let Some(kind) = self.kind else {
            return Ok(Scope::Untouched);
        };
        let event = match (kind, &self.operation, &self.sub_resource) {
            (Kind::Pod, Operation::Create, SubResource::None) => Event::PodCreate,
            (Kind::Pod, Operation::Update, SubResource::None) => Event::PodUpdate,
            (Kind::Pod, Operation::Update, SubResource::EphemeralContainers) => {
                Event::EphemeralContainers
            }
            (Kind::Pod, ..) | (Kind::Job, Operation::Update, _) => return Ok(Scope::Untouched),
            (_, Operation::Create, SubResource::None) => Event::TemplateCreate,
            (_, Operation::Update, SubResource::None) => Event::TemplateUpdate,
            _ => return Ok(Scope::Untouched),
        };
        let object = self
            .object
            .unwrap_or_else(|| Err(Error::missing("object")))
            .map_err(|error| match error.path() {
                "" => error.in_field("object"),
                _ => error,
            })?;
        let metadata = object.metadata;
        let passes = (!event.is_create() && metadata.deleting)
            || (kind == Kind::Pod && metadata.mirror && self.by_a_node)
            || (kind != Kind::Pod && metadata.controlled);
        if passes {
            return Ok(Scope::Untouched);
        }
        let old = if event.is_create() {
            None
        } else {
            self.old_object
                .and_then(|span| Object::read(&mut Reader::at(text, span), kind).ok())
        };
        if let (Event::TemplateUpdate, Some(old), Some(template)) = (event, &old, object.template)
            && old
                .template
                .is_some_and(|old| old.of(text) == template.of(text))
        {
            return Ok(Scope::Untouched);
        }
        let mut pod = object.pod?;
        if matches!(event, Event::PodUpdate | Event::EphemeralContainers) {
            let old = old.and_then(|old| old.pod.ok());
            keep_changed(event, &mut pod, old.as_ref());
            if pod.places.is_empty() {
                return Ok(Scope::Untouched);
            }
        }
        Ok(Scope::Examine(Box::new(Review {
            event,
            kind,
            text,
            object: object.span,
            metadata,
            pod,
        })))
    }
}

/// Keeps what an UPDATE of a Pod brings: containers whose image is another than before, or the
/// ephemeral containers that are new.
fn keep_changed(event: Event, pod: &mut Pod<'_>, old: Option<&Pod<'_>>) {
    pod.places.retain_mut(|place| {
        let at_issue = match event {
            Event::EphemeralContainers => place.slot == Slot::EphemeralContainer,
            _ => matches!(place.slot, Slot::InitContainer | Slot::Container),
        };
        // Containers can't be added, removed or moved in a Pod that exists; ephemeral containers
        // are only ever appended. So the same one stands at the same index.
        let before = old.and_then(|old| {
            let first = old.places.partition_point(|old| old.slot < place.slot);
            let same = old.places.get(first + place.index)?;
            (same.slot == place.slot && same.name == place.name).then_some(same)
        });
        place.previous_image = before
            .and_then(|before| before.image.as_ref())
            .map(|image| image.value.to_string());
        let changed = match (event, before) {
            (_, None) => true,
            (Event::EphemeralContainers, Some(_)) => false,
            (_, Some(before)) => {
                let (now, then) = (place.image.as_ref(), before.image.as_ref());
                now.map(|image| &image.value) != then.map(|image| &image.value)
            }
        };
        at_issue && changed
    });
}

fn group_and_kind(reader: &mut Reader<'_>) -> Result<Option<Kind>> {
    let mut group = None;
    let mut kind = None;
    reader.object(|reader, key| {
        match key {
            b"group" => group = reader.optional_string()?,
            b"kind" => kind = Some(reader.string()?),
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    let group = group.map(|group| group.value).unwrap_or_default();
    let kind = kind.ok_or_else(|| Error::missing("kind"))?;
    Ok(Kind::of(&group, &kind.value))
}

fn is_in_nodes_group(reader: &mut Reader<'_>) -> Result<bool> {
    if reader.null()? {
        return Ok(false);
    }
    let mut found = false;
    reader.object(|reader, key| {
        if key == b"groups" && !reader.clone().null()? {
            reader.list(|reader, _| {
                found |= reader.string()?.value == NODES_GROUP;
                Ok(())
            })?;
        } else {
            reader.skip()?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// An object of a known kind.
struct Object<'a> {
    span: Span,
    metadata: Metadata,
    /// Where the pod template stands; a Pod has none.
    template: Option<Span>,
    /// The Pod spec. A broken one is no error yet: the request may pass for another reason, and
    /// an object that is being deleted must never be held up.
    pod: Result<Pod<'a>>,
}

impl<'a> Object<'a> {
    fn read_optional(reader: &mut Reader<'a>, kind: Kind) -> Result<Option<Result<Self>>> {
        if reader.null()? {
            return Ok(None);
        }
        let start = reader.clone();
        match Self::read(reader, kind) {
            Ok(object) => Ok(Some(Ok(object))),
            Err(error) => {
                *reader = start;
                reader.skip()?;
                Ok(Some(Err(error)))
            }
        }
    }

    fn read(reader: &mut Reader<'a>, kind: Kind) -> Result<Self> {
        let mut metadata = Metadata::default();
        let mut found = Found::default();
        let (first, rest) = match kind.path() {
            [first, rest @ ..] => (*first, rest),
            [] => ("spec", &[][..]),
        };
        let mut pod = Err(Error::missing(first));
        let span = reader.object(|reader, key| {
            if key == b"metadata" {
                metadata = Metadata::read(reader)?;
            } else if key == first.as_bytes() {
                let start = reader.clone();
                pod = found
                    .descend(reader, rest)
                    .map_err(|error| error.in_field(first));
                if pod.is_err() {
                    *reader = start;
                    reader.skip()?;
                }
            } else {
                reader.skip()?;
            }
            Ok(())
        })?;
        Ok(Self {
            span,
            metadata,
            template: found.template,
            pod,
        })
    }
}

/// What is passed on the way down to a Pod spec.
#[derive(Default)]
struct Found {
    template: Option<Span>,
}

impl Found {
    /// Follows the keys down to the Pod spec and reads it.
    fn descend<'a>(&mut self, reader: &mut Reader<'a>, path: &[&str]) -> Result<Pod<'a>> {
        let [first, rest @ ..] = path else {
            return Pod::read(reader);
        };
        let mut pod = None;
        let span = reader.object(|reader, key| {
            if key == first.as_bytes() {
                pod = Some(self.descend(reader, rest)?);
            } else {
                reader.skip()?;
            }
            Ok(())
        })?;
        if rest.is_empty() {
            self.template = Some(span);
        }
        pod.ok_or_else(|| Error::missing(first))
    }
}

impl Metadata {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut metadata = Self::default();
        if reader.clone().null()? {
            metadata.span = Some(reader.skip()?);
            return Ok(metadata);
        }
        let span = reader.object(|reader, key| {
            match key {
                b"annotations" => metadata.read_annotations(reader)?,
                b"deletionTimestamp" => {
                    metadata.deleting = !reader.null()?;
                    if metadata.deleting {
                        reader.skip()?;
                    }
                }
                b"ownerReferences" => metadata.controlled = has_controller(reader)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        metadata.span = Some(span);
        Ok(metadata)
    }

    fn read_annotations(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        if reader.clone().null()? {
            self.annotations = Some(reader.skip()?);
            return Ok(());
        }
        let span = reader.object(|reader, key| {
            let value = reader.skip()?;
            match key {
                _ if key == MIRROR_ANNOTATION.as_bytes() => self.mirror = true,
                _ if key == CHANGES_ANNOTATION.as_bytes() => self.changes = Some(value),
                _ => {}
            }
            Ok(())
        })?;
        self.annotations = Some(span);
        Ok(())
    }
}

/// Whether an owner is the object's controller.
fn has_controller(reader: &mut Reader<'_>) -> Result<bool> {
    if reader.null()? {
        return Ok(false);
    }
    let mut controlled = false;
    reader.list(|reader, _| {
        reader.object(|reader, key| {
            if key == b"controller" && !reader.clone().null()? {
                controlled |= reader.boolean()?;
            } else {
                reader.skip()?;
            }
            Ok(())
        })?;
        Ok(())
    })?;
    Ok(controlled)
}
