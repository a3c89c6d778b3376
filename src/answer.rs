//! The answer: findings and changes become message, warnings, annotations and the changed object.

use crate::json::{
    Edit, Reader, Span, in_order, write_edited, write_escaped, write_quoted, write_string,
};
use crate::pod::{Place, Slot};
use crate::request::{CHANGES_ANNOTATION, Review};
use crate::rules::missing_check::{NewCheck, Position};
use crate::rules::{
    Cause, Decision, Entry, Problem, Rule, Told, Work, default, disallowed_policy, invalid_image,
    missing_check, registry, weak_check,
};
use crate::sentence::{Names, fill, fit, shorten};

/// The status code of a rejection. An audit takes 500 for a failure of the policy itself.
const REJECTED: &[u8] = b"400";
/// The longest warning, in characters: what the Kubernetes API asks webhooks for.
const WARNING_MAX: usize = 120;
/// The most warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The most findings that a rejection tells; the audit annotation has them all.
const SENTENCES_MAX: usize = 20;
/// The longest record of changes in an object's annotation, in bytes.
const RECORD_MAX: usize = 16 * 1024;
/// The longest text of an object that an audit annotation repeats, in characters.
const AUDITED_MAX: usize = 512;

/// The answer to a request that passes untouched.
#[must_use]
pub fn accept() -> Vec<u8> {
    br#"{"accepted":true}"#.to_vec()
}

/// The answer to a request that can't be examined.
#[must_use]
pub fn reject(message: &str) -> Vec<u8> {
    let mut out = br#"{"accepted":false,"code":"#.to_vec();
    out.extend_from_slice(REJECTED);
    out.extend_from_slice(br#","message":"#);
    write_string(&mut out, message);
    out.push(b'}');
    out
}

/// The answer to what the rules found.
#[must_use]
pub fn answer(work: &Work<'_>, decision: Decision) -> Vec<u8> {
    if work.is_quiet() {
        return accept();
    }
    let paths = Paths::of(work);
    let findings = findings(work, &paths);
    let rejected = decision.rejects(work);
    let repairs = !rejected
        && decision == Decision::Repair
        // What pull-once saves is no reason to change a template, and roll its Pods.
        && (!work.review.event.is_template() || work.has_repairs());
    let changes = if repairs {
        changes(work, &paths)
    } else {
        Vec::new()
    };
    let changes_json = sorted_changes(&changes);
    let mut out = if rejected {
        reject(&message(&findings, decision))
    } else {
        accept()
    };
    out.pop();
    if !changes.is_empty() {
        let object = work.review.object;
        let record: usize = changes_json.iter().map(Vec::len).sum();
        out.reserve(object.end - object.start + 3 * record + 1024);
        out.extend_from_slice(br#","mutated_object":"#);
        write_object(&mut out, work, &changes, &changes_json);
    }
    write_warnings(&mut out, &warnings(work, &findings, decision, rejected));
    write_audit_annotations(&mut out, work, &findings, &changes_json);
    out.push(b'}');
    out
}

/// Field paths of an object, as Kubernetes writes them.
struct Paths {
    prefix: String,
    /// New init containers, and the index that the first of them gets.
    added: (usize, usize),
}

impl Paths {
    fn of(work: &Work<'_>) -> Self {
        Self {
            prefix: work.review.kind.path().join("."),
            added: (work.added.len(), Position::of(work).index()),
        }
    }

    fn path(&self, slot: Slot, index: usize, field: &str) -> String {
        let separator = if field.is_empty() { "" } else { "." };
        fill(
            "{}.{}[{}]{}{}",
            &[
                &self.prefix,
                slot.list(),
                &index.to_string(),
                separator,
                field,
            ],
        )
    }

    /// The path in the object that came in.
    fn before(&self, place: &Place<'_>, field: &str) -> String {
        self.path(place.slot, place.index, field)
    }

    /// The path in the object that goes out.
    fn after(&self, place: &Place<'_>, field: &str) -> String {
        self.path(place.slot, self.index_after(place), field)
    }

    /// The index in the object that goes out, where new checks stand before later init containers.
    fn index_after(&self, place: &Place<'_>) -> usize {
        let (count, first) = self.added;
        let moved = place.slot == Slot::InitContainer && place.index >= first;
        place.index + if moved { count } else { 0 }
    }
}

/// One thing wrong, as it is told.
struct Finding<'w, 'p> {
    rule: Rule,
    path: String,
    found: Option<String>,
    expected: Option<String>,
    advice: bool,
    at: At<'w, 'p>,
}

/// What a finding is about.
enum At<'w, 'p> {
    Image(&'w Entry<'p>),
    Policy(&'w Entry<'p>, &'w Cause<'p>),
    Problem(&'w Problem<'p>),
    NewCheck(&'w NewCheck<'p>),
}

/// All findings, in no order.
fn findings<'w, 'p>(work: &'w Work<'p>, paths: &Paths) -> Vec<Finding<'w, 'p>> {
    let mut findings = Vec::new();
    for problem in &work.problems {
        findings.push(of_problem(problem, paths));
    }
    for entry in &work.entries {
        findings.extend(of_image(entry, paths));
        findings.extend(of_policy(entry, paths));
    }
    for check in &work.added {
        findings.push(Finding {
            rule: Rule::MissingCheck,
            path: paths.before(check.place, check.place.slot.image_field()),
            found: None,
            expected: Some(fill("{} with {}", &[&check.name, check.policy.as_str()])),
            advice: false,
            at: At::NewCheck(check),
        });
    }
    findings
}

/// Where a field stands among all fields: by list, by index, by name. In a volume
/// `image.pullPolicy` comes before `image.reference`.
fn rank(slot: Slot, index: usize, path: &str) -> usize {
    let policy = path.ends_with("olicy");
    let second = policy != (slot == Slot::ImageVolume);
    (slot.rank() << 29) + (index << 1) + usize::from(second)
}

fn of_problem<'w, 'p>(problem: &'w Problem<'p>, paths: &Paths) -> Finding<'w, 'p> {
    let place = problem.place;
    let policy = || place.policy.map(|policy| policy.as_str().to_owned());
    let (field, found, expected) = match &problem.cause {
        Cause::DisallowedPolicy(disallowed) => {
            let expected = match disallowed {
                disallowed_policy::Disallowed::Require(_) => Some("Always"),
                disallowed_policy::Disallowed::Forbid(_) => Some("IfNotPresent"),
                disallowed_policy::Disallowed::Conflict(..) => None,
            };
            (
                place.slot.policy_field(),
                policy(),
                expected.map(str::to_owned),
            )
        }
        Cause::WeakCheck(_) => (
            place.slot.policy_field(),
            policy(),
            Some("Always".to_owned()),
        ),
        Cause::MissingCheck(_) => (
            place.slot.image_field(),
            None,
            Some("an image check".to_owned()),
        ),
        _ => (
            place.slot.image_field(),
            Some(image_of(place).to_owned()),
            None,
        ),
    };
    Finding {
        rule: problem.cause.rule(),
        path: paths.before(place, field),
        found,
        expected,
        advice: problem.advice,
        at: At::Problem(problem),
    }
}

/// The finding of an image that is to be pinned; the policy that goes with it is part of it.
fn of_image<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    entry.pinned.as_ref()?;
    Some(Finding {
        rule: Rule::Registry,
        path: paths.before(entry.place, entry.place.slot.image_field()),
        found: Some(entry.image().to_owned()),
        expected: Some(entry.image_after()),
        advice: false,
        at: At::Image(entry),
    })
}

fn of_policy<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    let cause = entry.policy_cause.as_ref()?;
    let is_part_of_another = matches!(
        cause,
        Cause::PullOnce | Cause::Registry(registry::Outcome::Pinned)
    );
    if is_part_of_another || !entry.policy_changed() {
        return None;
    }
    Some(Finding {
        rule: cause.rule(),
        path: paths.before(entry.place, entry.place.slot.policy_field()),
        found: Some(entry.policy_before().as_str().to_owned()),
        expected: Some(entry.policy.as_str().to_owned()),
        advice: false,
        at: At::Policy(entry, cause),
    })
}

fn image_of<'p>(place: &'p Place<'_>) -> &'p str {
    place
        .image
        .as_ref()
        .map(|image| &*image.value)
        .unwrap_or_default()
}

impl Finding<'_, '_> {
    fn place(&self) -> &Place<'_> {
        match self.at {
            At::Image(entry) | At::Policy(entry, _) => entry.place,
            At::Problem(problem) => problem.place,
            At::NewCheck(check) => check.place,
        }
    }

    fn told(&self) -> Told<'_> {
        let place = self.place();
        let (found, expected) = match self.at {
            At::Image(entry) | At::Policy(entry, _) => {
                (entry.policy_before().as_str(), entry.policy.as_str())
            }
            At::Problem(problem) => (
                problem.place.policy.map_or("no policy", |p| p.as_str()),
                match &problem.cause {
                    Cause::DisallowedPolicy(disallowed_policy::Disallowed::Forbid(_)) => {
                        "IfNotPresent"
                    }
                    _ => "Always",
                },
            ),
            At::NewCheck(_) => ("", ""),
        };
        Told {
            name: &place.name,
            image: image_of(place),
            found,
            expected,
        }
    }

    /// What is wrong, and the way out.
    fn sentence(&self, names: Names) -> String {
        let told = self.told();
        let (cause, repairable) = match self.at {
            At::NewCheck(check) => return missing_check::sentence_of_new(check, names),
            At::Image(entry) => {
                let digest = entry.pinned.as_deref().unwrap_or_default();
                return registry::sentence_of_pin(&told, &entry.image_after(), digest, names);
            }
            At::Problem(problem) => (&problem.cause, false),
            At::Policy(_, cause) => (cause, true),
        };
        match cause {
            Cause::InvalidImage(invalid) => {
                invalid_image::sentence(&self.path, told.name, told.image, *invalid, names)
            }
            Cause::Default(setting) => default::sentence(&told, *setting, names),
            Cause::DisallowedPolicy(disallowed) => {
                disallowed_policy::sentence(&told, disallowed, repairable, names)
            }
            Cause::Registry(outcome) => registry::sentence(&told, outcome, names),
            Cause::WeakCheck(stronger) => weak_check::sentence(&told, *stronger, names),
            Cause::MissingCheck(uncovered) => missing_check::sentence(&told, *uncovered, names),
            Cause::PullOnce => String::new(),
        }
    }

    /// Whether the repair is worth a warning: what a person set was changed. Defaults and pins are
    /// what the operator asked for everywhere, and are recorded only.
    fn is_worth_a_warning(&self) -> bool {
        matches!(
            self.at,
            At::NewCheck(_) | At::Policy(_, Cause::WeakCheck(_) | Cause::DisallowedPolicy(_))
        )
    }

    /// The repair, where it is worth a warning.
    fn repaired(&self, names: Names) -> Option<String> {
        let told = self.told();
        match self.at {
            At::NewCheck(check) => Some(missing_check::repaired(check, names)),
            At::Policy(_, Cause::WeakCheck(stronger)) => {
                Some(weak_check::repaired(&told, *stronger, names))
            }
            At::Policy(_, Cause::DisallowedPolicy(disallowed)) => {
                Some(disallowed_policy::repaired(&told, disallowed, names))
            }
            At::Problem(_) | At::Image(_) | At::Policy(..) => None,
        }
    }
}

/// The message of a rejection: a sentence a finding.
fn message(findings: &[Finding<'_, '_>], decision: Decision) -> String {
    let told: Vec<&Finding<'_, '_>> = in_order(findings, |finding| finding.rule as usize)
        .filter(|finding| !finding.advice)
        .filter(|finding| decision == Decision::Reject || matches!(finding.at, At::Problem(_)))
        .collect();
    let mut sentences: Vec<String> = told
        .iter()
        .take(SENTENCES_MAX)
        .map(|finding| finding.sentence(Names::whole()))
        .collect();
    let more = told.len() - sentences.len();
    if more > 0 {
        sentences.push(fill("and {} more findings", &[&more.to_string()]));
    }
    sentences.join("; ")
}

/// The warnings: a line a finding or a repair worth knowing.
fn warnings(
    work: &Work<'_>,
    findings: &[Finding<'_, '_>],
    decision: Decision,
    rejected: bool,
) -> Vec<String> {
    let mut lines: Vec<Box<dyn Fn(Names) -> String + '_>> = Vec::new();
    for finding in in_order(findings, |finding| finding.rule as usize) {
        if finding.advice || decision == Decision::Warn {
            lines.push(Box::new(|names| finding.sentence(names)));
        } else if decision == Decision::Repair && !rejected && finding.is_worth_a_warning() {
            lines.push(Box::new(|names| {
                finding.repaired(names).unwrap_or_default()
            }));
        }
    }
    for lookup in &work.lookups {
        if lookup.action != crate::settings::OnFailure::Reject {
            lines.push(Box::new(|names| registry::warning(lookup, names)));
        }
    }
    let shown = if lines.len() > WARNINGS_MAX {
        WARNINGS_MAX - 1
    } else {
        lines.len()
    };
    let mut warnings: Vec<String> = lines
        .iter()
        .take(shown)
        .map(|line| fit(WARNING_MAX, line))
        .collect();
    let more = lines.len() - shown;
    if more > 0 {
        warnings.push(fill("and {} more warnings", &[&more.to_string()]));
    }
    warnings
}

fn write_warnings(out: &mut Vec<u8>, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    out.extend_from_slice(br#","warnings":["#);
    for (index, warning) in warnings.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, warning);
    }
    out.push(b']');
}

/// A field that changes.
struct Change<'w, 'p> {
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
fn changes<'w, 'p>(work: &'w Work<'p>, paths: &Paths) -> Vec<Change<'w, 'p>> {
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

fn write_optional(out: &mut Vec<u8>, value: Option<&str>) {
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

/// Audit annotations: findings, changes and failed lookups as JSON, sorted, to be counted.
fn write_audit_annotations(
    out: &mut Vec<u8>,
    work: &Work<'_>,
    findings: &[Finding<'_, '_>],
    changes: &[Vec<u8>],
) {
    let before = out.len();
    out.extend_from_slice(br#","audit_annotations":{"#);
    let empty = out.len();
    let in_order = in_order(findings, |finding| {
        rank(finding.place().slot, finding.place().index, &finding.path)
    });
    write_annotation(out, "changes", &mut changes.iter().cloned());
    write_annotation(out, "findings", &mut in_order.map(finding_json));
    write_annotation(out, "lookups", &mut work.lookups.iter().map(lookup_json));
    if out.len() == empty {
        out.truncate(before);
        return;
    }
    // The comma after the last.
    out.pop();
    out.push(b'}');
}

/// Writes an annotation whose value is a list in JSON, unless it is empty.
fn write_annotation(out: &mut Vec<u8>, key: &str, items: &mut dyn Iterator<Item = Vec<u8>>) {
    let mut separator = b'[';
    for item in items {
        if separator == b'[' {
            write_string(out, key);
            out.extend_from_slice(b":\"");
        }
        out.push(separator);
        write_escaped(out, &item);
        separator = b',';
    }
    if separator == b',' {
        out.extend_from_slice(b"]\",");
    }
}

/// The changes as JSON, in the order of their fields.
fn sorted_changes(changes: &[Change<'_, '_>]) -> Vec<Vec<u8>> {
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

fn lookup_json(lookup: &registry::FailedLookup) -> Vec<u8> {
    let asked: &[u8] = match lookup.asked {
        registry::Asked::Yes => b"true",
        _ => b"false",
    };
    let mut out = br#"{"image":"#.to_vec();
    write_string(&mut out, &lookup.image);
    out.extend_from_slice(br#","failure":"#);
    write_string(&mut out, lookup.failure.id());
    out.extend_from_slice(br#","asked":"#);
    out.extend_from_slice(asked);
    out.extend_from_slice(br#","action":"#);
    write_string(&mut out, lookup.action.as_str());
    out.push(b'}');
    out
}

fn finding_json(finding: &Finding<'_, '_>) -> Vec<u8> {
    let place = finding.place();
    let cut = |text: &Option<String>| {
        text.as_ref()
            .map(|text| shorten(text, AUDITED_MAX).into_owned())
    };
    let mut out = br#"{"rule":"#.to_vec();
    write_string(&mut out, finding.rule.id());
    out.extend_from_slice(br#","path":"#);
    write_string(&mut out, &finding.path);
    out.extend_from_slice(br#","container":"#);
    write_string(&mut out, &shorten(&place.name, AUDITED_MAX));
    out.extend_from_slice(br#","image":"#);
    write_string(&mut out, &shorten(image_of(place), AUDITED_MAX));
    out.extend_from_slice(br#","found":"#);
    write_optional(&mut out, cut(&finding.found).as_deref());
    out.extend_from_slice(br#","expected":"#);
    write_optional(&mut out, cut(&finding.expected).as_deref());
    out.push(b'}');
    out
}

/// Writes the object with its changes: its own text, edited where a field changes.
fn write_object(
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
                more += 1;
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
    let mut items = Vec::new();
    let mut more = 0;
    let mut reader = Reader::new(text.as_bytes());
    reader
        .list(|reader, _| {
            let mut count = None;
            let span = reader.object(|reader, key| {
                let value = reader.skip()?;
                if key == b"more" {
                    let digits = std::str::from_utf8(value.of(reader.text())).ok();
                    count = digits.and_then(|digits| digits.parse::<usize>().ok());
                }
                Ok(())
            })?;
            match count {
                Some(count) => more = count,
                None => items.push(span.of(reader.text()).to_vec()),
            }
            Ok(())
        })
        .and_then(|_| reader.end())
        .ok()?;
    Some((items, more))
}
