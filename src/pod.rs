//! The Pod spec as the rules see it: a flat list of the places where an image stands.

use std::borrow::Cow;

use crate::json::{Error, Reader, Result, Span, Text};
use crate::pull_policy::PullPolicy;

/// The lists of a Pod spec in which images stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// `spec.initContainers`
    InitContainer,
    /// `spec.containers`
    Container,
    /// `spec.ephemeralContainers`
    EphemeralContainer,
    /// `spec.volumes[].image`, KEP-4639
    ImageVolume,
}

impl Slot {
    /// The list's name in the Pod spec.
    #[must_use]
    pub const fn list(self) -> &'static str {
        match self {
            Self::InitContainer => "initContainers",
            Self::Container => "containers",
            Self::EphemeralContainer => "ephemeralContainers",
            Self::ImageVolume => "volumes",
        }
    }

    /// The list's place among the names of all lists, in alphabetical order.
    #[must_use]
    pub const fn rank(self) -> usize {
        match self {
            Self::Container => 0,
            Self::EphemeralContainer => 1,
            Self::InitContainer => 2,
            Self::ImageVolume => 3,
        }
    }

    /// The path from an element of the list to its image.
    #[must_use]
    pub const fn image_field(self) -> &'static str {
        match self {
            Self::ImageVolume => "image.reference",
            _ => "image",
        }
    }

    /// The path from an element of the list to its pull policy.
    #[must_use]
    pub const fn policy_field(self) -> &'static str {
        match self {
            Self::ImageVolume => "image.pullPolicy",
            _ => "imagePullPolicy",
        }
    }
}

/// A place where an image stands: a container of any kind, or an image volume.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The list that holds it.
    pub slot: Slot,
    /// Its index in that list.
    pub index: usize,
    /// The name of the container or the volume.
    pub name: Cow<'a, str>,
    /// Where the name stands.
    pub name_span: Span,
    /// An init container with `restartPolicy: Always` (KEP-753): it goes on running beside the
    /// containers, so it is no check.
    pub native_sidecar: bool,
    /// The image, where one is set.
    pub image: Option<Text<'a>>,
    /// The pull policy; `null` and `""` are "not set", as the API server has it.
    pub policy: Option<PullPolicy>,
    /// Where the policy's value stands, set or not.
    pub policy_span: Option<Span>,
    /// Where the whole container or volume stands.
    pub span: Span,
    /// At UPDATE, the image that stood here before.
    pub previous_image: Option<String>,
}

impl Place<'_> {
    /// The image that stands here; empty where none is set.
    #[must_use]
    pub fn image_text(&self) -> &str {
        self.image.as_ref().map_or("", |image| &*image.value)
    }
}

/// A Pod spec, read.
#[derive(Clone, Debug)]
pub struct Pod<'a> {
    /// Init containers, containers, ephemeral containers, image volumes, each in their order.
    pub places: Vec<Place<'a>>,
    /// Where the list of init containers stands, `null` included.
    pub init_containers: Option<Span>,
    /// Where the Pod spec stands.
    pub span: Span,
}

impl<'a> Pod<'a> {
    /// Reads the Pod spec that comes next.
    ///
    /// # Errors
    /// Where its shape is not what Kubernetes says, with the path below the spec.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut containers = Vec::new();
        let mut ephemeral_containers = Vec::new();
        let mut volumes = Vec::new();
        let mut places = Vec::new();
        let mut init_containers = None;
        let span = reader.object(|reader, key| {
            match key {
                b"initContainers" => {
                    init_containers =
                        Some(containers_of(reader, Slot::InitContainer, &mut places)?);
                }
                b"containers" => {
                    containers_of(reader, Slot::Container, &mut containers)?;
                }
                b"ephemeralContainers" => {
                    containers_of(reader, Slot::EphemeralContainer, &mut ephemeral_containers)?;
                }
                b"volumes" => volumes_of(reader, &mut volumes)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        places.append(&mut containers);
        places.append(&mut ephemeral_containers);
        places.append(&mut volumes);
        Ok(Self {
            places,
            init_containers,
            span,
        })
    }

    /// The places of one list, in their order.
    pub fn list(&self, slot: Slot) -> impl Iterator<Item = &Place<'a>> {
        self.places.iter().filter(move |place| place.slot == slot)
    }
}

/// Reads a list of containers; `null` is an empty one.
fn containers_of<'a>(
    reader: &mut Reader<'a>,
    slot: Slot,
    places: &mut Vec<Place<'a>>,
) -> Result<Span> {
    let mut peeked = reader.clone();
    if peeked.null()? {
        return reader.skip();
    }
    places.clear();
    reader.list(|reader, index| {
        places.push(container(reader, slot, index)?);
        Ok(())
    })
}

fn container<'a>(reader: &mut Reader<'a>, slot: Slot, index: usize) -> Result<Place<'a>> {
    let mut name = None;
    let mut image = None;
    let mut policy = (None, None);
    let mut native_sidecar = false;
    let span = reader.object(|reader, key| {
        match key {
            b"name" => name = reader.optional_string()?,
            b"image" => image = reader.optional_string()?,
            b"imagePullPolicy" => policy = pull_policy(reader)?,
            b"restartPolicy" if slot == Slot::InitContainer => {
                native_sidecar = reader
                    .optional_string()?
                    .is_some_and(|policy| policy.value == "Always");
            }
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    let name = name.ok_or_else(|| Error::missing("name"))?;
    Ok(Place {
        slot,
        index,
        name: name.value,
        name_span: name.span,
        native_sidecar,
        image,
        policy: policy.0,
        policy_span: policy.1,
        span,
        previous_image: None,
    })
}

/// Reads the volumes, and keeps those that are images.
fn volumes_of<'a>(reader: &mut Reader<'a>, places: &mut Vec<Place<'a>>) -> Result<()> {
    let mut peeked = reader.clone();
    if peeked.null()? {
        reader.skip()?;
        return Ok(());
    }
    places.clear();
    reader.list(|reader, index| {
        let mut name = None;
        let mut source = None;
        reader.object(|reader, key| {
            match key {
                b"name" => name = reader.optional_string()?,
                b"image" => source = image_volume(reader)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        if let Some(source) = source {
            let name = name.ok_or_else(|| Error::missing("name"))?;
            places.push(Place {
                slot: Slot::ImageVolume,
                index,
                name: name.value,
                name_span: name.span,
                native_sidecar: false,
                image: source.reference,
                policy: source.policy.0,
                policy_span: source.policy.1,
                span: source.span,
                previous_image: None,
            });
        }
        Ok(())
    })?;
    Ok(())
}

/// `volumes[].image`
struct ImageVolume<'a> {
    reference: Option<Text<'a>>,
    policy: (Option<PullPolicy>, Option<Span>),
    span: Span,
}

fn image_volume<'a>(reader: &mut Reader<'a>) -> Result<Option<ImageVolume<'a>>> {
    if reader.null()? {
        return Ok(None);
    }
    let mut reference = None;
    let mut policy = (None, None);
    let span = reader.object(|reader, key| {
        match key {
            b"reference" => reference = reader.optional_string()?,
            b"pullPolicy" => policy = pull_policy(reader)?,
            _ => {
                reader.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(Some(ImageVolume {
        reference,
        policy,
        span,
    }))
}

/// Reads a pull policy and where it stands.
fn pull_policy(reader: &mut Reader<'_>) -> Result<(Option<PullPolicy>, Option<Span>)> {
    let mut peeked = reader.clone();
    if peeked.null()? {
        return Ok((None, Some(reader.skip()?)));
    }
    let text = reader.string()?;
    let policy = match &*text.value {
        "" => None,
        value => Some(
            PullPolicy::parse(value)
                .ok_or_else(|| Error::new("must be Always, IfNotPresent or Never"))?,
        ),
    };
    Ok((policy, Some(text.span)))
}
