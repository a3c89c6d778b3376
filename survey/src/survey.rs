//! The survey: what each example does to each workload, and what becomes of their Pods in an
//! incident.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::{Cluster, Workload};
use crate::example::{AdmissionPolicy, AdmissionRequest, Example, Pairs, examples};
use crate::incident::{End, Incident, Moment, Registries, Step, copies, end_of, steps};
use crate::object::{create_request, entries, in_registry, pod_spec, set_defaults};
use crate::plan::Choice;
use crate::policy::{Answer, Image, Names, Policy, is_always};
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
    pub(crate) examples: Vec<Example>,
    pub(crate) pairs: Pairs,
    pub(crate) cluster: Cluster,
    pub(crate) question: Question,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) rows: Vec<Row>,
    /// The settings of each example's policy under the present choice, as text.
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
    /// How its Pods end up in the incident without any example.
    pub before: End,
    /// What each example does, in their order. `None` if it doesn't select the workload.
    pub results: Vec<Option<Effect>>,
}

/// What an example does to a workload.
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

/// What an example does to an object, from the least to the most severe.
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
    /// Whether each example's policy selects it.
    selected: Vec<bool>,
}

/// What becomes of an object at its creation.
struct Admission {
    answers: Vec<Answer>,
    is_rejected: bool,
    /// The object that is stored, if it was changed.
    object: Option<Value>,
    asked: Vec<String>,
}

/// One object of a workload under an example, in detail.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The request that the example's policy gets in health.
    pub request: Value,
    /// The policy's settings.
    pub settings: Value,
}

impl Survey {
    /// A survey with these example files (their names without extension, and their texts), and with
    /// examples/pairs.yaml.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn new<'f>(
        files: impl IntoIterator<Item = (&'f str, &'f str)>,
        pairs: &str,
    ) -> Result<Self, String> {
        let examples = examples(files)?;
        let policies = examples
            .iter()
            .filter_map(|example| example.policy.as_ref());
        let compared = policies
            .flat_map(AdmissionPolicy::compared_labels)
            .map(str::to_owned);
        let cluster = Cluster::new(compared.collect());
        let mut survey = Self {
            pairs: yaml_serde::from_str(pairs).map_err(|error| format!("pairs: {error}"))?,
            examples,
            cluster,
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
        self.reader.read(piece, &mut |object| cluster.add(object));
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The input is no output of kubectl, or its end is missing. The sentence says what to do.
    pub fn finish(&mut self) -> Result<(), String> {
        let cluster = &mut self.cluster;
        self.reader.finish(&mut |object| cluster.add(object))?;
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
        let settings = |example: &Example| {
            let policy = example.policy.as_ref();
            policy.map_or_else(String::new, |policy| {
                question.choice.settings(policy).to_string()
            })
        };
        self.settings = self.examples.iter().map(settings).collect();
        self.rows.clear();
        self.question = question;
    }

    /// The present question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The example files.
    pub fn examples(&self) -> &[Example] {
        &self.examples
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
        for index in 0..self.examples.len() {
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
        let selects = |example: &Example| {
            is_chosen
                && example
                    .policy
                    .as_ref()
                    .is_some_and(|policy| policy.selects(&admission))
        };
        Some(Sent {
            selected: self.examples.iter().map(selects).collect(),
            text: request.to_string(),
            request,
            object,
        })
    }

    /// The policies of an example that select an object: the first policy of a second one comes
    /// first. Each has its number.
    fn policies(&self, index: usize, sent: &Sent) -> Vec<usize> {
        let is_selected = |index: &usize| sent.selected.get(*index) == Some(&true);
        let first = self
            .examples
            .get(index)
            .and_then(|example| example.first.as_ref());
        let first = first.and_then(|first| self.examples.iter().position(|it| it.name == *first));
        let own = Some(index).filter(is_selected);
        // Without the second policy itself, there is nothing to say.
        let first = first.filter(|first| own.is_some() && is_selected(first));
        first.into_iter().chain(own).collect()
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
        let is_audit = self.examples.get(index)?.policy.as_ref()?.is_audit;
        let pods: Vec<&Sent> = pods
            .iter()
            .map(|(written, stored)| if is_audit { stored } else { written })
            .collect();
        let chosen = |sent: &Sent| self.policies(index, sent);
        let policies_of_makers: Vec<Vec<usize>> = makers.iter().map(chosen).collect();
        let policies_of_pods: Vec<Vec<usize>> = pods.iter().map(|pod| chosen(pod)).collect();
        let mut all = policies_of_makers.iter().chain(&policies_of_pods);
        if all.all(Vec::is_empty) {
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
        for (sent, policies) in makers
            .iter()
            .zip(&policies_of_makers)
            .chain(pods.iter().copied().zip(&policies_of_pods))
        {
            let mut admission = self.admit(sent, policies, index, None, policy);
            for answer in std::mem::take(&mut admission.answers) {
                effect.add(answer, is_audit);
            }
            effect.is_undone |= admission.is_undone();
            healthy.push(admission);
        }
        for (incident, ends) in incidents.iter().zip(before) {
            let mut is_made = true;
            let mut admissions = healthy.iter();
            for ((maker, policies), admission) in
                makers.iter().zip(&policies_of_makers).zip(&mut admissions)
            {
                let again = self.admit_during(maker, policies, index, admission, incident, policy);
                is_made &= !again.as_ref().unwrap_or(admission).is_rejected;
            }
            for (((pod, policies), admission), end) in
                pods.iter().zip(&policies_of_pods).zip(admissions).zip(ends)
            {
                if is_audit || (is_made && policies.is_empty()) {
                    effect.after = effect.after.worse(*end);
                    continue;
                }
                let again = self.admit_during(pod, policies, index, admission, incident, policy);
                let admission_now = again.as_ref().unwrap_or(admission);
                effect.is_undone |= admission_now.is_undone();
                let end = if !is_made || admission_now.is_rejected {
                    End {
                        fate: crate::incident::Fate::Rejected,
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

    /// One object of a workload: of those that an example selects, a Pod if there is one.
    pub fn detail(&mut self, row: usize, example: &str, policy: &mut dyn Policy) -> Option<Detail> {
        let index = self.examples.iter().position(|it| it.name == example)?;
        let settings = self.settings.get(index)?;
        let settings = serde_json::from_str(settings).unwrap_or_default();
        let workload = self.workloads.get(row)?;
        let pods = workload.pods.iter().map(|pod| Rc::clone(&pod.written));
        let objects: Vec<Rc<Value>> = pods.chain(workload.makers.iter().cloned()).collect();
        let mut sent = objects
            .iter()
            .filter_map(|object| self.sent(object, policy))
            .collect::<Vec<_>>();
        sent.sort_by_key(|sent| sent.selected.get(index) != Some(&true));
        let sent = sent.into_iter().next()?;
        let mut policies = self.policies(index, &sent);
        // A second policy gets what its first one returned.
        policies.pop();
        let admission = self.admit(&sent, &policies, index, None, policy);
        let mut request = sent.request;
        if let (Some(object), Some(request)) = (admission.object, request.as_object_mut()) {
            request.insert("object".to_owned(), object);
        }
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
        let mut reader = Reader::of_everything();
        reader.read(text.as_bytes(), &mut |object| objects.push(object));
        reader.finish(&mut |object| objects.push(object))?;
        let requests = objects
            .iter()
            .filter_map(|object| match object.get("request") {
                Some(request) => Some(passed_on(request)),
                None => self.sent(object, policy).map(|sent| sent.request),
            });
        Ok(requests.collect())
    }

    /// The releases that install an example, as commands. `chart` is the chart, as helm's argument.
    ///
    /// # Errors
    /// No namespace is chosen, or the example is no release of the chart.
    pub fn commands(&self, example: &str, chart: &str) -> Result<Vec<String>, String> {
        let releases = self.question.choice.releases(example, &self.examples)?;
        Ok(releases
            .iter()
            .map(|release| release.command(chart))
            .collect())
    }

    /// Sends an object to policies, one after another. Audits change nothing.
    fn admit(
        &self,
        sent: &Sent,
        policies: &[usize],
        own: usize,
        incident: Option<&Incident>,
        policy: &mut dyn Policy,
    ) -> Admission {
        let mut registries = Registries {
            incident: incident.cloned(),
            asked: Vec::new(),
        };
        let mut admission = Admission {
            answers: Vec::new(),
            is_rejected: false,
            object: None,
            asked: Vec::new(),
        };
        for index in policies {
            let settings = self.settings.get(*index).map_or("{}", |settings| settings);
            let changed = admission.object.as_ref().map(|object| {
                let mut request = sent.request.clone();
                if let Some(request) = request.as_object_mut() {
                    request.insert("object".to_owned(), object.clone());
                }
                request.to_string()
            });
            let request = changed.as_ref().unwrap_or(&sent.text);
            let mut answer = Answer::ask(policy, request, settings, &mut registries);
            admission.is_rejected = !answer.accepted;
            if answer.is_repair() {
                admission.object = answer.mutated_object.take().or(admission.object);
                answer.mutated_object = Some(Value::Null);
            }
            if admission.is_rejected || *index == own {
                admission.answers.push(answer);
            }
            if admission.is_rejected {
                break;
            }
        }
        admission.asked = registries.asked;
        admission
    }

    /// What becomes of an object that is created in an incident, if it differs from what becomes of
    /// it in health: while a registry is away, its lookups fail too.
    fn admit_during(
        &self,
        sent: &Sent,
        policies: &[usize],
        own: usize,
        healthy: &Admission,
        incident: &Incident,
        policy: &mut dyn Policy,
    ) -> Option<Admission> {
        let fails = healthy.asked.iter().any(|image| incident.takes(image));
        (fails && incident.moment != Moment::Reboot)
            .then(|| self.admit(sent, policies, own, Some(incident), policy))
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
            let is_everything = incident.what == crate::incident::What::Registries;
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
