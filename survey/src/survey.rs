//! The survey: what each preset does to each workload, and what becomes of their Pods in an
//! incident.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::{Cluster, Node, Workload};
use crate::incident::{End, Incident, Moment, Step, What, copies, end_of, steps};
use crate::json::from_yaml;
use crate::object::{create_request, entries, in_registry, namespace_of, set_defaults, spec_path};
use crate::plan::Choice;
use crate::policy::{Admission, Image, Names, Policy, is_always};
use crate::preset::{AdmissionRequest, Pairs, Preset};
use crate::read::{COMMAND, Reader};

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
    workloads: Vec<Rc<Workload>>,
    rows: Vec<Row>,
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
#[derive(Clone, Debug, Default, Serialize)]
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
    /// The request, as text.
    request: String,
    /// Whether each preset's policy selects it.
    selected: Vec<bool>,
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

/// How a Pod starts in an incident.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Drawing {
    /// The incident, in words.
    pub incident: String,
    /// What is pulled, in the order of the Pod. Empty if it is rejected.
    pub steps: Vec<Step>,
    /// How the Pod ends up.
    pub end: End,
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
            let in_file = |error| format!("{name}: {error}");
            if name == "pairs" {
                let found = from_yaml(text).map_err(in_file)?;
                pairs = Pairs::deserialize(found).map_err(|error| in_file(error.to_string()))?;
            } else {
                presets.push(Preset::new(name, text).map_err(in_file)?);
            }
        }
        let compared = presets.iter().flat_map(|preset| preset.policy.compared());
        Ok(Self {
            cluster: Cluster::new(compared.map(str::to_owned).collect()),
            presets,
            pairs,
            question: Question::default(),
            workloads: Vec::new(),
            rows: Vec::new(),
            reader: Reader::default(),
            names: Names::default(),
        })
    }

    /// Reads a piece of the input, of any length.
    pub fn read(&mut self, piece: &[u8]) {
        self.reader
            .read(piece, &mut |object| self.cluster.add(object));
    }

    /// Ends a file. The next piece is of another one.
    ///
    /// # Errors
    /// The file is no output of kubectl, or its end is missing. The sentence says what to do.
    pub fn end_file(&mut self) -> Result<(), String> {
        self.reader.end_file(&mut |object| self.cluster.add(object))
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The input is no output of kubectl, or its end is missing. The sentence says what to do.
    pub fn finish(&mut self) -> Result<(), String> {
        self.end_file()?;
        self.workloads = self.cluster.workloads().into_iter().map(Rc::new).collect();
        if self.workloads.is_empty() {
            return Err(without_objects());
        }
        Ok(())
    }

    /// Asks a new question. The rows are worked out again.
    pub fn ask(&mut self, question: Question) {
        self.rows.clear();
        self.question = question;
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
        let workload = self.workloads.get(self.rows.len()).map(Rc::clone);
        let row = workload.map(|workload| self.row(&workload, policy));
        let is_there = row.is_some();
        self.rows.extend(row);
        is_there
    }

    fn row(&mut self, workload: &Workload, policy: &mut dyn Policy) -> Row {
        let makers = workload.makers.values();
        let makers: Vec<Sent> = makers.map(|maker| self.sent(maker, policy)).collect();
        let (mut stored, mut written, mut images) = (Vec::new(), Vec::new(), BTreeSet::new());
        for pod in workload.pods.values() {
            stored.push(self.sent(&pod.stored, policy));
            let pod = self.sent(&pod.written, policy);
            images.append(&mut self.images(&pod.object, policy));
            written.push(pod);
        }
        let incidents = self.question.incident.each(&images).into_iter();
        let before = incidents.map(|incident| {
            let pods = written.iter().map(|pod| &pod.object);
            let ends = pods.map(|pod| end_of(&self.steps(pod, pod, &incident, policy)));
            let ends: Vec<End> = ends.collect();
            (incident, ends)
        });
        let before: Vec<_> = before.collect();
        let results = (0..self.presets.len()).map(|index| {
            let is_audit = self.presets.get(index)?.policy.is_audit;
            let pods = if is_audit { &stored } else { &written };
            self.effect(index, &makers, pods, &before, policy)
        });
        Row {
            results: results.collect(),
            kind: workload.id.kind.clone(),
            namespace: workload.id.namespace.clone(),
            name: workload.id.name.clone(),
            number: workload.number,
            nodes: self.nodes_with(workload),
            is_always: written.iter().all(|pod| is_always(&pod.object)),
            images,
            before: before
                .iter()
                .flat_map(|(_, ends)| ends)
                .fold(End::default(), |end, other| end.worse(*other)),
        }
    }

    /// On how many Nodes all images of a workload are: the Nodes list them, or its Pods run there.
    fn nodes_with(&self, workload: &Workload) -> usize {
        let pods = workload.pods.values();
        let pods: Vec<_> = pods.map(|pod| (&pod.nodes, copies(&pod.stored))).collect();
        let is_there = |node: &&Node| {
            pods.iter()
                .all(|(nodes, copies)| nodes.contains(&node.name) || copies.is_subset(&node.images))
        };
        self.cluster.nodes.iter().filter(is_there).count()
    }

    /// An object with the server defaults, and the policies that select it.
    fn sent(&mut self, object: &Value, policy: &mut dyn Policy) -> Sent {
        let mut object = object.clone();
        self.set_defaults(&mut object, policy);
        let request = create_request(&object);
        let namespace = namespace_of(&object);
        let labels = self.cluster.namespaces.labels(namespace);
        let admission = AdmissionRequest::new(&request, &labels);
        let is_chosen = self.question.choice.has(namespace);
        let selects = |preset: &Preset| is_chosen && preset.policy.selects(&admission);
        Sent {
            selected: self.presets.iter().map(selects).collect(),
            request: request.to_string(),
            object,
        }
    }

    /// What a preset does to the objects of a workload. `before` has the incidents, and how each of
    /// the Pods ends up in them without the preset.
    fn effect(
        &mut self,
        index: usize,
        makers: &[Sent],
        pods: &[Sent],
        before: &[(Incident, Vec<End>)],
        policy: &mut dyn Policy,
    ) -> Option<Effect> {
        let sent = || makers.iter().chain(pods);
        if !sent().any(|sent| sent.is_selected(index)) {
            return None;
        }
        let preset = self.presets.get(index)?;
        let is_audit = preset.policy.is_audit;
        let settings = self.question.choice.settings(preset).to_string();
        let mut effect = Effect::default();
        let healthy = sent().map(|sent| {
            let admission = if sent.is_selected(index) {
                Admission::new(&sent.request, &settings, None, policy)
            } else {
                Admission::default()
            };
            effect.add(&admission, is_audit);
            Rc::new(admission)
        });
        let healthy: Vec<Rc<Admission>> = healthy.collect();
        let (of_makers, of_pods) = healthy.split_at(makers.len());
        for (incident, ends) in before {
            // Without its maker, there is no Pod.
            let is_made = makers.iter().zip(of_makers).all(|(maker, healthy)| {
                let now = healthy.during(&maker.request, &settings, incident, policy);
                !now.is_rejected()
            });
            for ((pod, healthy), end) in pods.iter().zip(of_pods).zip(ends) {
                let now = healthy.during(&pod.request, &settings, incident, policy);
                effect.is_undone |= now.is_undone();
                let end = if is_audit {
                    *end
                } else if !is_made || now.is_rejected() {
                    End::REJECTED
                } else {
                    let (now, earlier) = (now.object(&pod.object), healthy.object(&pod.object));
                    end_of(&self.steps(now, earlier, incident, policy))
                };
                effect.after = effect.after.worse(end);
            }
        }
        Some(effect)
    }

    /// One object of a workload: of those that a preset selects, a Pod if there is one.
    pub fn detail(&mut self, row: usize, preset: &str, policy: &mut dyn Policy) -> Option<Detail> {
        let index = self.presets.iter().position(|it| it.name == preset)?;
        let workload = Rc::clone(self.workloads.get(row)?);
        let pods = workload.pods.values().map(|pod| &pod.written);
        let objects = pods.chain(workload.makers.values());
        let sent = objects.map(|object| self.sent(object, policy));
        // The first one of several.
        let sent = sent.min_by_key(|sent| !sent.is_selected(index))?;
        Some(Detail {
            request: serde_json::from_str(&sent.request).ok()?,
            settings: self.question.choice.settings(self.presets.get(index)?),
        })
    }

    /// How the Pod of a request starts in the incident that harms it most, of those that the question
    /// means. `settings` are those of the policy that answers the request. Without them, the Pod
    /// starts as it came in.
    pub fn drawing(
        &mut self,
        request: &Value,
        settings: Option<&Value>,
        policy: &mut dyn Policy,
    ) -> Drawing {
        let object = request.get("object").unwrap_or(&Value::Null);
        let request = request.to_string();
        let settings = settings.map(Value::to_string);
        let settings = settings.as_deref();
        let healthy = settings.map(|settings| Admission::new(&request, settings, None, policy));
        let healthy = Rc::new(healthy.unwrap_or_default());
        let earlier = healthy.object(object);
        let images = self.images(earlier, policy);
        let incidents = self.question.incident.each(&images).into_iter();
        let fate =
            |incident: &Incident| end_of(&self.steps(earlier, earlier, incident, policy)).fate;
        let incident = incidents.max_by_key(fate).unwrap_or_default();
        let settings = settings.unwrap_or_default();
        let now = healthy.during(&request, settings, &incident, policy);
        let mut drawing = Drawing {
            incident: incident.words(),
            end: End::REJECTED,
            steps: Vec::new(),
        };
        if !now.is_rejected() {
            drawing.steps = self.steps(now.object(object), earlier, &incident, policy);
            drawing.end = end_of(&drawing.steps);
        }
        drawing
    }

    /// The requests that create the objects in a text, with the server defaults.
    ///
    /// # Errors
    /// The text has no objects.
    pub fn requests(&mut self, text: &str, policy: &mut dyn Policy) -> Result<Vec<Value>, String> {
        let mut objects = Vec::new();
        let mut reader = Reader::default();
        reader.read(text.as_bytes(), &mut |object| objects.push(object));
        reader.end_file(&mut |object| objects.push(object))?;
        if objects.is_empty() {
            return Err(without_objects());
        }
        let request = |mut object: Value| {
            // A host of Kubewarden passes the request of an AdmissionReview on without null fields.
            if let Some(Value::Object(request)) = object.get("request") {
                let set = request
                    .clone()
                    .into_iter()
                    .filter(|(_, value)| !value.is_null());
                return Some(set.collect());
            }
            spec_path(&object)?;
            self.set_defaults(&mut object, policy);
            Some(create_request(&object))
        };
        Ok(objects.into_iter().filter_map(request).collect())
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

    fn set_defaults(&mut self, object: &mut Value, policy: &mut dyn Policy) {
        set_defaults(object, &mut |image| {
            let image = self.names.image(image, policy);
            image.map_or("IfNotPresent", |image| image.default)
        });
    }

    /// What this policy knows about an image in its registry. `None` if it can't be parsed.
    fn image(&mut self, image: &str, policy: &mut dyn Policy) -> Option<Image> {
        // An image with a tag and a digest is gone with its tag.
        self.names.image(image, policy)?;
        self.names.image(&in_registry(image), policy)
    }

    /// The normalised names of a Pod's images.
    fn images(&mut self, pod: &Value, policy: &mut dyn Policy) -> BTreeSet<String> {
        let entries = entries(pod).into_iter();
        let names = entries.filter_map(|entry| self.image(&entry.image, policy)?.name);
        names.collect()
    }

    /// The steps in which a Pod starts in an incident. A node on which such a Pod ran before has the
    /// images of the Pod `earlier`.
    pub fn steps(
        &mut self,
        pod: &Value,
        earlier: &Value,
        incident: &Incident,
        policy: &mut dyn Policy,
    ) -> Vec<Step> {
        let on_node = match incident.moment {
            Moment::Empty => BTreeSet::new(),
            Moment::Meanwhile | Moment::Reboot => copies(earlier),
        };
        steps(pod, &on_node, &mut |image| {
            let name = self.image(image, policy)?.name;
            let is_everything = incident.what == What::Registries;
            Some(name.map_or(is_everything, |name| incident.takes(&name)))
        })
    }
}

impl Sent {
    fn is_selected(&self, index: usize) -> bool {
        self.selected.get(index) == Some(&true)
    }
}

fn without_objects() -> String {
    format!("the input has no Pod and no workload: give the output of `{COMMAND}`")
}

impl Effect {
    fn add(&mut self, admission: &Admission, is_audit: bool) {
        let outcome = match admission.outcome {
            Outcome::Rejected if is_audit => Outcome::Reported,
            outcome => outcome,
        };
        self.is_undone |= admission.is_undone();
        self.rules.extend(admission.rules.iter().cloned());
        match outcome.cmp(&self.outcome) {
            Ordering::Less => {}
            Ordering::Equal => self.reasons.extend_from_slice(&admission.reasons),
            Ordering::Greater => self.reasons.clone_from(&admission.reasons),
        }
        self.outcome = self.outcome.max(outcome);
    }
}
