//! Changes: what is written into the object, and what is written down of it.

use super::paths::{Paths, rank};
use crate::json::{
    Edit, Error, Kind, Reader, Span, in_order, write_edited, write_quoted, write_string,
};
use crate::pod::{Place, Slot};
use crate::request::{CHANGES_ANNOTATION, Review};
use crate::rules::missing_check::{NewCheck, Position};
use crate::rules::{Entry, Rule, Work};
use crate::sentence;

/// The longest record of changes in an object's annotation, in bytes.
const RECORD_MAX: usize = 16 * 1024;

/// A field that changes.
pub(super) struct Change<'w, 'p> {
    slot: Slot,
    /// The index in the list of the object that goes out.
    index: usize,
    path: String,
    rule: Rule,
    from: Option<String>,
    to: To<'w, 'p>,
    entry: Option<&'w Entry<'p>>,
}

/// What a field becomes.
enum To<'w, 'p> {
    Policy(&'static str),
    Image(String),
    NewCheck(&'w NewCheck<'p>),
}

/// All changes, in the order of their places.
pub(super) fn changes<'w, 'p>(work: &'w Work<'p>, paths: &Paths) -> Vec<Change<'w, 'p>> {
    let mut changes = Vec::new();
    for entry in &work.entries {
        let place = entry.place;
        if entry.pinned.is_some() {
            changes.push(Change {
                slot: place.slot,
                index: paths.index_after(place),
                path: paths.after(place, place.slot.image_field()),
                rule: Rule::Registry,
                from: Some(entry.image().to_owned()),
                to: To::Image(entry.image_after()),
                entry: Some(entry),
            });
        }
        if let (true, Some(cause)) = (entry.policy_changed(), &entry.policy_cause) {
            changes.push(Change {
                slot: place.slot,
                index: paths.index_after(place),
                path: paths.after(place, place.slot.policy_field()),
                rule: cause.rule(),
                from: place.policy.map(|policy| policy.as_str().to_owned()),
                to: To::Policy(entry.policy.as_str()),
                entry: Some(entry),
            });
        }
    }
    let (_, first) = paths.added;
    for (offset, check) in work.added.iter().enumerate() {
        changes.push(Change {
            slot: Slot::InitContainer,
            index: first + offset,
            path: paths.path(Slot::InitContainer, first + offset, ""),
            rule: Rule::MissingCheck,
            from: None,
            to: To::NewCheck(check),
            entry: None,
        });
    }
    changes
}

impl Change<'_, '_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"path":"#);
        write_string(out, &self.path);
        out.extend_from_slice(br#","from":"#);
        write_optional(out, self.from.as_deref());
        out.extend_from_slice(br#","to":"#);
        match &self.to {
            To::Policy(policy) => write_string(out, policy),
            To::Image(image) => write_string(out, image),
            To::NewCheck(check) => {
                out.push(b'{');
                write_identity(out, check);
                out.push(b'}');
            }
        }
        out.extend_from_slice(br#","rule":"#);
        write_string(out, self.rule.id());
        out.push(b'}');
    }
}

pub(super) fn write_optional(out: &mut Vec<u8>, value: Option<&str>) {
    match value {
        Some(value) => write_string(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// The three fields that are a new check's own.
fn write_identity(out: &mut Vec<u8>, check: &NewCheck<'_>) {
    out.extend_from_slice(br#""name":"#);
    write_string(out, &check.name);
    out.extend_from_slice(br#","image":"#);
    write_string(out, &check.image);
    out.extend_from_slice(br#","imagePullPolicy":"#);
    write_string(out, check.policy.as_str());
}

/// The changes as JSON, in the order of their fields.
pub(super) fn sorted_changes(changes: &[Change<'_, '_>]) -> Vec<Vec<u8>> {
    in_order(changes, |change| {
        rank(change.slot, change.index, &change.path)
    })
    .map(|change| {
        let mut json = Vec::new();
        change.write_json(&mut json);
        json
    })
    .collect()
}

/// Writes the object with its changes: its own text, edited where a field changes.
pub(super) fn write_object(
    out: &mut Vec<u8>,
    work: &Work<'_>,
    changes: &[Change<'_, '_>],
    changes_json: &[Vec<u8>],
) {
    let review = work.review;
    let mut edits = Vec::with_capacity(changes.len() + 2);
    for change in changes {
        let Some(entry) = change.entry else {
            continue;
        };
        match &change.to {
            To::Policy(policy) => edits.extend(set_policy(entry.place, policy)),
            To::Image(image) => edits.extend(entry.place.image.as_ref().map(|text| Edit {
                span: text.span,
                with: json_string(image),
            })),
            To::NewCheck(_) => {}
        }
    }
    edits.extend(add_checks(work));
    if work.settings.record_changes && review.event.is_create() {
        edits.push(record(review, changes_json));
    }
    write_edited(out, review.text, review.object, &edits);
}

fn json_string(value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(&mut out, value);
    out
}

/// Sets a pull policy: its value is replaced, or the field is put after the image.
fn set_policy(place: &Place<'_>, policy: &str) -> Option<Edit> {
    if let Some(span) = place.policy_span {
        return Some(Edit {
            span,
            with: json_string(policy),
        });
    }
    let key = match place.slot {
        Slot::ImageVolume => "pullPolicy",
        _ => "imagePullPolicy",
    };
    place.image.as_ref().map(|image| Edit {
        span: Span::at(image.span.end),
        with: [
            b",".as_slice(),
            &json_string(key),
            b":",
            &json_string(policy),
        ]
        .concat(),
    })
}

/// Inserts the new checks into the list of init containers, which may not be there yet.
fn add_checks(work: &Work<'_>) -> Option<Edit> {
    if work.added.is_empty() {
        return None;
    }
    let review = work.review;
    let position = Position::of(work);
    let checks: Vec<Vec<u8>> = work
        .added
        .iter()
        .map(|check| match position.copied {
            Some(copied) => copy_of(review, copied, check),
            None => from_template(work.settings.image_checks.template, check),
        })
        .collect();
    let checks = checks.join(&b',');
    if let Some(place) = position.after {
        return Some(Edit {
            span: Span::at(place.span.end),
            with: [b",".as_slice(), &checks].concat(),
        });
    }
    let has_others = review.pod.list(Slot::InitContainer).next().is_some();
    Some(match review.pod.init_containers {
        Some(list) if has_others => Edit {
            span: Span::at(list.start + 1),
            with: [checks.as_slice(), b","].concat(),
        },
        Some(list) => Edit {
            span: list,
            with: [b"[".as_slice(), &checks, b"]"].concat(),
        },
        None => insert_member(
            review.text,
            review.pod.span,
            &[br#""initContainers":["#.as_slice(), &checks, b"]"].concat(),
        ),
    })
}

/// A copy of a check, with a name, an image and a policy of its own.
fn copy_of(review: &Review<'_>, copied: &Place<'_>, check: &NewCheck<'_>) -> Vec<u8> {
    let mut edits = vec![Edit {
        span: copied.name_span,
        with: json_string(&check.name),
    }];
    edits.extend(copied.image.as_ref().map(|image| Edit {
        span: image.span,
        with: json_string(&check.image),
    }));
    edits.extend(set_policy(copied, check.policy.as_str()));
    let mut out = Vec::new();
    write_edited(&mut out, review.text, copied.span, &edits);
    out
}

/// A check made from `imageChecks.template`.
fn from_template(template: Option<&[u8]>, check: &NewCheck<'_>) -> Vec<u8> {
    let template = template.unwrap_or(b"{}");
    let mut own = Vec::new();
    write_identity(&mut own, check);
    let whole = Span {
        start: 0,
        end: template.len(),
    };
    let mut out = Vec::new();
    let edit = insert_member(template, whole, &own);
    write_edited(&mut out, template, whole, &[edit]);
    out
}

/// Inserts a member at the start of an object.
fn insert_member(text: &[u8], object: Span, member: &[u8]) -> Edit {
    let inner = Span {
        start: object.start + 1,
        end: object.end.saturating_sub(1),
    };
    let empty = inner.of(text).iter().all(u8::is_ascii_whitespace);
    Edit {
        span: Span::at(inner.start),
        with: [member, if empty { b"" } else { b"," }].concat(),
    }
}

/// Writes the changes into the object's annotation, after those that stand there already.
fn record(review: &Review<'_>, changes: &[Vec<u8>]) -> Edit {
    let metadata = &review.metadata;
    let mut value = Vec::new();
    write_quoted(&mut value, &record_of(review, changes));
    if let Some(span) = metadata.changes {
        return Edit { span, with: value };
    }
    let member = [&json_string(CHANGES_ANNOTATION), b":".as_slice(), &value].concat();
    let object = [b"{".as_slice(), &member, b"}"].concat();
    let is_object = |span: Span| span.of(review.text).starts_with(b"{");
    match (metadata.annotations, metadata.span) {
        (Some(annotations), _) if is_object(annotations) => {
            insert_member(review.text, annotations, &member)
        }
        (Some(null), _) => Edit {
            span: null,
            with: object,
        },
        (None, Some(metadata)) if is_object(metadata) => insert_member(
            review.text,
            metadata,
            &[br#""annotations":"#.as_slice(), &object].concat(),
        ),
        (None, metadata) => {
            let metadata_object = [br#"{"annotations":"#.as_slice(), &object, b"}"].concat();
            match metadata {
                Some(null) => Edit {
                    span: null,
                    with: metadata_object,
                },
                None => insert_member(
                    review.text,
                    review.object,
                    &[br#""metadata":"#.as_slice(), &metadata_object].concat(),
                ),
            }
        }
    }
}

/// The record: a list of changes, and how many did not fit.
fn record_of(review: &Review<'_>, changes: &[Vec<u8>]) -> Vec<u8> {
    let (earlier, mut more) = earlier_record(review).unwrap_or_default();
    // Room for the brackets and for the count of what does not fit.
    let mut room = RECORD_MAX - 40;
    let mut list = Vec::new();
    let mut full = false;
    for item in earlier.iter().chain(changes) {
        match room.checked_sub(item.len() + 1) {
            Some(left) if !full => {
                room = left;
                list.push(if list.is_empty() { b'[' } else { b',' });
                list.extend_from_slice(item);
            }
            _ => {
                full = true;
                more = more.saturating_add(1);
            }
        }
    }
    if more > 0 {
        list.push(if list.is_empty() { b'[' } else { b',' });
        list.extend_from_slice(br#"{"more":"#);
        list.extend_from_slice(more.to_string().as_bytes());
        list.push(b'}');
    }
    list.push(b']');
    list
}

/// The changes that an object came with, and how many more there were. A value that is no such
/// list was not written by this policy, and is replaced.
fn earlier_record(review: &Review<'_>) -> Option<(Vec<Vec<u8>>, usize)> {
    let span = review.metadata.changes?;
    let text = Reader::at(review.text, span).string().ok()?.value;
    // A control character in a string is no JSON, and there is none elsewhere in a record.
    if text.bytes().any(|byte| byte < b' ') {
        return None;
    }
    let mut items = Vec::new();
    let mut more = 0_usize;
    let mut reader = Reader::new(text.as_bytes());
    reader
        .list(|reader, _| {
            let mut count = None;
            let span = reader.object(|reader, key| match (key, reader.peek()?) {
                (b"more", Kind::Number) => {
                    let digits = reader.skip()?.of(reader.text());
                    count = sentence::text(digits).parse::<usize>().ok();
                    count.map(drop).ok_or_else(|| Error::new("is no count"))
                }
                (b"from", Kind::Null) => reader.null().map(drop),
                (b"to", Kind::Object) => reader
                    .object(|reader, key| match key {
                        b"name" | b"image" | b"imagePullPolicy" => reader.string().map(drop),
                        _ => Err(Error::new("is no field of a check")),
                    })
                    .map(drop),
                (b"path" | b"from" | b"to" | b"rule", _) => reader.string().map(drop),
                _ => Err(Error::new("is no field of a change")),
            })?;
            match count {
                Some(count) => more = more.saturating_add(count),
                None => items.push(span.of(reader.text()).to_vec()),
            }
            Ok(())
        })
        .and_then(|_| reader.end())
        .ok()?;
    Some((items, more))
}
