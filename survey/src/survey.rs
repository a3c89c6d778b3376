//! The survey: what each preset does to each workload, and what becomes of their Pods in an
//! incident.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::{Cluster, Workload};
use crate::incident::{End, Fate, Incident, Moment, Registries, Step, What, copies, end_of, steps};
use crate::json::from_yaml;
use crate::object::{create_request, entries, in_registry, pod_spec, set_defaults};
use crate::plan::Choice;
use crate::policy::{Answer, Image, Names, Policy, is_always};
use crate::preset::{AdmissionRequest, Pairs, Preset};
use crate::prune::{Pruned, Unpruned};
use crate::read::Reader;

/// What a person asks the survey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Question {
    /// What happens, and to which Pods.
    pub incident: Incident,
    /// What the releases would be.
    pub choice: Choice,
}

/// A survey of a cluster: it reads objects in pieces, and then works out a row for each workload.
pub struct Survey {
    pub(crate) presets: Vec<Preset>,
    pub(crate) pairs: Pairs,
    pub(crate) cluster: Cluster,
    pub(crate) question: Question,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) rows: Vec<Row>,
    /// The settings of each preset's policy under the present choice, as text.
    settings: Vec<String>,
    reader: Reader,
    names: Names,
}

/// What the survey says about a workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The kind of its controller, which needs not be one of Kubernetes.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name, with a `*` if it stands for several objects.
    pub name: String,
    /// The number of its Pods; without Pods, of its objects.
    pub number: usize,
    /// On how many Nodes all of its images are known to be. An image that isn't known may be there
    /// all the same: a Node lists 50.
    pub nodes: usize,
    /// The normalised names of its images.
    pub images: BTreeSet<String>,
    /// Whether all containers of its Pods pull with `Always`.
    pub is_always: bool,
    /// How its Pods end up in the incident without any preset.
    pub before: End,
    /// What each preset does, in their order. `None` if it doesn't select the workload.
    pub results: Vec<Option<Effect>>,
}

/// What a preset does to a workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// What it does in health.
    pub outcome: Outcome,
    /// The rules with a finding or a change.
    pub rules: BTreeSet<String>,
    /// The message of a rejection, or the warnings, or else the changes.
    pub reasons: Vec<String>,
    /// How the workload's Pods end up in the incident.
    pub after: End,
    /// Whether the plugin `AlwaysPullImages` would undo a repair, in health or in the incident.
    pub is_undone: bool,
}

/// What a preset does to an object, from the least to the most severe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It accepts the object as it is.
    #[default]
    Allowed,
    /// It warns.
    Warned,
    /// It repairs the Pod.
    Changed,
    /// An audit would reject the object, and only its report says so.
    Reported,
    /// It rejects the object.
    Rejected,
}

/// An object that is sent to the policies.
struct Sent {
    object: Value,
    /// The request as text.
    text: String,
    request: Value,
    /// Whether each preset's policy selects it.
    selected: Vec<bool>,
}

/// What becomes of an object at its creation.
#[derive(Default)]
struct Admission {
    answer: Option<Answer>,
    is_rejected: bool,
    /// The object that is stored, if it was changed.
    object: Option<Value>,
    asked: Vec<String>,
}

impl Sent {
    fn is_selected(&self, index: usize) -> bool {
        self.selected.get(index) == Some(&true)
    }
}

/// One object of a workload under a preset, in detail.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The request that the preset's policy gets in health.
    pub request: Value,
    /// The policy's settings.
    pub settings: Value,
}

impl Survey {
    /// A survey with the files of the folder examples: their names without extension, and their
    /// texts.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn new<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<Self, String> {
        let (mut presets, mut pairs) = (Vec::new(), Pairs::new());
        for (name, text) in files {
            let told = |error| format!("{name}: {error}");
            if name == "pairs" {
                let found = from_yaml(text).map_err(told)?;
                pairs = Pairs::deserialize(found).map_err(|error| told(error.to_string()))?;
            } else {
                presets.push(Preset::new(name, text).map_err(told)?);
            }
        }
        let compared = presets
            .iter()
            .flat_map(|Preset { policy, .. }| policy.compared_labels().chain(policy.volumes()))
            .map(str::to_owned);
        let mut survey = Self {
            cluster: Cluster::new(compared.collect()),
            presets,
            pairs,
            question: Question::default(),
            workloads: Vec::new(),
            rows: Vec::new(),
            settings: Vec::new(),
            reader: Reader::default(),
            names: Names::default(),
        };
        survey.ask(Question::default());
        Ok(survey)
    }

    /// Reads a piece of the input, of any length.
    pub fn read(&mut self, piece: &[u8]) {
        let cluster = &mut self.cluster;
        self.reader
            .read::<Pruned>(piece, &mut |object| cluster.add(object));
    }

    /// Ends a file. The next piece is of another one.
    ///
    /// # Errors
    /// The file is no output of kubectl, or its end is missing. The sentence says what to do.
    pub fn end_file(&mut self) -> Result<(), String> {
        let cluster = &mut self.cluster;
        self.reader
            .end_file::<Pruned>(&mut |object| cluster.add(object))
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The input is no output of kubectl, or its end is missing. The sentence says what to do.
    pub fn finish(&mut self) -> Result<(), String> {
        let cluster = &mut self.cluster;
        self.reader
            .finish::<Pruned>(&mut |object| cluster.add(object))?;
        self.workloads = self.cluster.workloads();
        if self.workloads.is_empty() {
            return Err(format!(
                "the input has no Pod and no workload: give the output of `{}`",
                crate::read::COMMAND
            ));
        }
        Ok(())
    }

    /// Asks a new question. The rows are worked out again.
    pub fn ask(&mut self, question: Question) {
        let presets = self.presets.iter();
        let settings = presets.map(|preset| question.choice.settings(preset).to_string());
        self.settings = settings.collect();
        self.rows.clear();
        self.question = question;
    }

    /// The present question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The presets.
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// The number of workloads.
    pub fn workloads(&self) -> usize {
        self.workloads.len()
    }

    /// The rows that were worked out.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Works out the row of the next workload. False if there is none.
    pub fn work(&mut self, policy: &mut dyn Policy) -> bool {
        let workloads = std::mem::take(&mut self.workloads);
        let row = workloads
            .get(self.rows.len())
            .map(|workload| self.row(workload, policy));
        self.workloads = workloads;
        let is_there = row.is_some();
        self.rows.extend(row);
        is_there
    }

    fn row(&mut self, workload: &Workload, policy: &mut dyn Policy) -> Row {
        let makers: Vec<Sent> = workload
            .makers
            .iter()
            .filter_map(|maker| self.sent(maker, policy))
            .collect();
        let pods: Vec<(Sent, Sent)> = workload
            .pods
            .iter()
            .filter_map(|pod| {
                Some((
                    self.sent(&pod.written, policy)?,
                    self.sent(&pod.stored, policy)?,
                ))
            })
            .collect();
        let mut images = BTreeSet::new();
        for spec in pods.iter().filter_map(|(pod, _)| pod_spec(&pod.object)) {
            for entry in entries(spec) {
                images.extend(
                    self.image(&entry.image, policy)
                        .and_then(|image| image.name),
                );
            }
        }
        let incidents = self.question.incident.each(&images);
        let mut before = Vec::new();
        for incident in &incidents {
            let of_pod =
                |(pod, _): &(Sent, Sent)| self.end(incident, &pod.object, &pod.object, policy);
            before.push(pods.iter().map(of_pod).collect::<Vec<End>>());
        }
        let mut results = Vec::new();
        for index in 0..self.presets.len() {
            results.push(self.effect(index, &makers, &pods, &incidents, &before, policy));
        }
        Row {
            kind: workload.kind.clone(),
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            number: workload.number,
            nodes: self.nodes_with(workload),
            is_always: pods
                .iter()
                .all(|(pod, _)| pod_spec(&pod.object).is_some_and(is_always)),
            images,
            before: before
                .into_iter()
                .flatten()
                .fold(End::default(), End::worse),
            results,
        }
    }

    /// On how many Nodes all images of a workload are: the Nodes list them, or its Pods run there.
    fn nodes_with(&self, workload: &Workload) -> usize {
        let is_there = |node: &&crate::cluster::Node| {
            workload.pods.iter().all(|pod| {
                let images = || pod_spec(&pod.stored).map(copies).unwrap_or_default();
                pod.nodes.contains(&node.name) || images().is_subset(&node.images)
            })
        };
        self.cluster.nodes.iter().filter(is_there).count()
    }

    /// An object with the server defaults, and the policies that select it.
    fn sent(&mut self, object: &Value, policy: &mut dyn Policy) -> Option<Sent> {
        let mut object = object.clone();
        let names = &mut self.names;
        set_defaults(&mut object, &mut |image| {
            names
                .image(image, policy)
                .map_or("IfNotPresent", |image| image.default)
        });
        let request = create_request(&object)?;
        let namespace = request
            .get("namespace")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let labels = self.cluster.namespaces.labels(namespace);
        let admission = AdmissionRequest::new(&request, &labels);
        let is_chosen = self.question.choice.has(namespace);
        let selects = |preset: &Preset| is_chosen && preset.policy.selects(&admission);
        Some(Sent {
            selected: self.presets.iter().map(selects).collect(),
            text: request.to_string(),
            request,
            object,
        })
    }

    fn effect(
        &mut self,
        index: usize,
        makers: &[Sent],
        pods: &[(Sent, Sent)],
        incidents: &[Incident],
        before: &[Vec<End>],
        policy: &mut dyn Policy,
    ) -> Option<Effect> {
        let is_audit = self.presets.get(index)?.policy.is_audit;
        let pods = pods.iter();
        let pods = pods.map(|(written, stored)| if is_audit { stored } else { written });
        let pods: Vec<&Sent> = pods.collect();
        if !makers
            .iter()
            .chain(pods.iter().copied())
            .any(|sent| sent.is_selected(index))
        {
            return None;
        }
        let mut effect = Effect {
            outcome: Outcome::Allowed,
            rules: BTreeSet::new(),
            reasons: Vec::new(),
            after: End::default(),
            is_undone: false,
        };
        let mut healthy = Vec::new();
        for sent in makers.iter().chain(pods.iter().copied()) {
            let mut admission = self.admit(sent, index, None, policy);
            if let Some(answer) = admission.answer.take() {
                effect.add(answer, is_audit);
            }
            effect.is_undone |= admission.is_undone();
            healthy.push(admission);
        }
        for (incident, ends) in incidents.iter().zip(before) {
            let mut is_made = true;
            let mut admissions = healthy.iter();
            for (maker, admission) in makers.iter().zip(&mut admissions) {
                let again = self.admit_during(maker, index, admission, incident, policy);
                is_made &= !again.as_ref().unwrap_or(admission).is_rejected;
            }
            for ((pod, admission), end) in pods.iter().zip(admissions).zip(ends) {
                if is_audit || (is_made && !pod.is_selected(index)) {
                    effect.after = effect.after.worse(*end);
                    continue;
                }
                let again = self.admit_during(pod, index, admission, incident, policy);
                let admission_now = again.as_ref().unwrap_or(admission);
                effect.is_undone |= admission_now.is_undone();
                let end = if !is_made || admission_now.is_rejected {
                    End {
                        fate: Fate::Rejected,
                        is_old: false,
                    }
                } else {
                    let earlier = admission.object.as_ref().unwrap_or(&pod.object);
                    let now = admission_now.object.as_ref().unwrap_or(&pod.object);
                    self.end(incident, now, earlier, policy)
                };
                effect.after = effect.after.worse(end);
            }
        }
        Some(effect)
    }

    /// One object of a workload: of those that a preset selects, a Pod if there is one.
    pub fn detail(&mut self, row: usize, preset: &str, policy: &mut dyn Policy) -> Option<Detail> {
        let index = self.presets.iter().position(|it| it.name == preset)?;
        let settings = self.settings.get(index)?;
        let settings = serde_json::from_str(settings).unwrap_or_default();
        let workload = self.workloads.get(row)?;
        let pods = workload.pods.iter().map(|pod| Rc::clone(&pod.written));
        let objects: Vec<Rc<Value>> = pods.chain(workload.makers.iter().cloned()).collect();
        let sent = objects
            .iter()
            .filter_map(|object| self.sent(object, policy));
        let mut sent: Vec<Sent> = sent.collect();
        sent.sort_by_key(|sent| !sent.is_selected(index));
        let request = sent.into_iter().next()?.request;
        Some(Detail { request, settings })
    }

    /// The steps in which a Pod starts in an incident. A node has the images of the Pod `earlier`.
    pub fn start(
        &mut self,
        pod: &Value,
        earlier: &Value,
        incident: &Incident,
        policy: &mut dyn Policy,
    ) -> (Vec<Step>, End) {
        let steps = self.steps(incident, pod, earlier, policy);
        let end = end_of(&steps);
        (steps, end)
    }

    /// Of the incidents that the question means, the one that harms a Pod most.
    pub fn worst(&mut self, pod: &Value, earlier: &Value, policy: &mut dyn Policy) -> Incident {
        let mut images = BTreeSet::new();
        for entry in pod_spec(pod).map(entries).unwrap_or_default() {
            images.extend(
                self.image(&entry.image, policy)
                    .and_then(|image| image.name),
            );
        }
        let incidents = self.question.incident.each(&images).into_iter();
        let worst = incidents.max_by_key(|incident| self.end(incident, pod, earlier, policy).fate);
        worst.unwrap_or_default()
    }

    /// The requests that create the objects in a text, with the server defaults.
    ///
    /// # Errors
    /// The text has no objects.
    pub fn requests(&mut self, text: &str, policy: &mut dyn Policy) -> Result<Vec<Value>, String> {
        let mut objects = Vec::new();
        let mut reader = Reader::default();
        reader.read::<Unpruned>(text.as_bytes(), &mut |object| objects.push(object));
        reader.finish::<Unpruned>(&mut |object| objects.push(object))?;
        let requests = objects
            .iter()
            .filter_map(|object| match object.get("request") {
                Some(request) => Some(passed_on(request)),
                None => self.sent(object, policy).map(|sent| sent.request),
            });
        Ok(requests.collect())
    }

    /// The command that installs a preset, for a POSIX shell. `chart` is the chart, as helm's
    /// argument.
    ///
    /// # Errors
    /// No namespace is chosen, or there is no such preset.
    pub fn command(&self, preset: &str, chart: &str) -> Result<String, String> {
        let found = self.presets.iter().find(|it| it.name == preset);
        let found = found.ok_or_else(|| format!("there is no preset {preset}"))?;
        self.question.choice.command(found, chart)
    }

    /// Sends an object to a preset's policy, if that selects it.
    fn admit(
        &self,
        sent: &Sent,
        index: usize,
        incident: Option<&Incident>,
        policy: &mut dyn Policy,
    ) -> Admission {
        let settings = self.settings.get(index);
        let Some(settings) = settings.filter(|_| sent.is_selected(index)) else {
            return Admission::default();
        };
        let mut registries = Registries {
            incident: incident.cloned(),
            asked: Vec::new(),
        };
        let mut answer = Answer::ask(policy, &sent.text, settings, &mut registries);
        let is_repair = answer.is_repair();
        let object = answer.mutated_object.as_mut().filter(|_| is_repair);
        let object = object.map(std::mem::take);
        Admission {
            is_rejected: !answer.accepted,
            object,
            asked: registries.asked,
            answer: Some(answer),
        }
    }

    /// What becomes of an object that is created in an incident, if it differs from what becomes of
    /// it in health: while a registry is down, its lookups fail too.
    fn admit_during(
        &self,
        sent: &Sent,
        index: usize,
        healthy: &Admission,
        incident: &Incident,
        policy: &mut dyn Policy,
    ) -> Option<Admission> {
        let fails = healthy.asked.iter().any(|image| incident.takes(image));
        (fails && incident.moment != Moment::Reboot)
            .then(|| self.admit(sent, index, Some(incident), policy))
    }

    /// What this policy knows about an image in its registry. `None` if it can't be parsed.
    fn image(&mut self, image: &str, policy: &mut dyn Policy) -> Option<Image> {
        // An image with a tag and a digest is gone with its tag.
        self.names.image(image, policy)?;
        self.names.image(&in_registry(image), policy)
    }

    fn steps(
        &mut self,
        incident: &Incident,
        pod: &Value,
        earlier: &Value,
        policy: &mut dyn Policy,
    ) -> Vec<Step> {
        let spec = pod_spec(pod).unwrap_or(&Value::Null);
        let on_node = match incident.moment {
            Moment::Empty => BTreeSet::new(),
            Moment::Meanwhile | Moment::Reboot => pod_spec(earlier).map(copies).unwrap_or_default(),
        };
        steps(spec, &on_node, &mut |image| {
            let name = self.image(image, policy)?.name;
            let is_everything = incident.what == What::Registries;
            Some(name.map_or(is_everything, |name| incident.takes(&name)))
        })
    }

    /// How a Pod ends up in an incident. A node has the images of such a Pod that ran `earlier`.
    fn end(
        &mut self,
        incident: &Incident,
        pod: &Value,
        earlier: &Value,
        policy: &mut dyn Policy,
    ) -> End {
        end_of(&self.steps(incident, pod, earlier, policy))
    }
}

impl Admission {
    /// Whether the plugin `AlwaysPullImages` would change the returned Pod again.
    fn is_undone(&self) -> bool {
        let repaired = self.object.as_ref().and_then(pod_spec);
        repaired.is_some_and(|spec| !is_always(spec))
    }
}

/// The request of an `AdmissionReview` as a host of Kubewarden passes it on: without null fields.
fn passed_on(request: &Value) -> Value {
    let mut request = request.clone();
    if let Some(fields) = request.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    request
}

impl Effect {
    fn add(&mut self, answer: Answer, is_audit: bool) {
        let outcome = match (answer.accepted, is_audit) {
            (false, true) => Outcome::Reported,
            (false, false) => Outcome::Rejected,
            _ if answer.is_repair() => Outcome::Changed,
            _ if answer.has_warnings() => Outcome::Warned,
            _ => Outcome::Allowed,
        };
        self.rules.append(&mut answer.rules());
        let mut reasons = answer.reasons();
        match outcome.cmp(&self.outcome) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.reasons.append(&mut reasons),
            std::cmp::Ordering::Greater => self.reasons = reasons,
        }
        self.outcome = self.outcome.max(outcome);
    }
}
