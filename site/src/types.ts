/** What the survey's core returns. Its Rust types have the explanations (survey/src). */

export type Fate = "starts" | "rejected" | "waits" | "half";
export type End = { fate: Fate; isOld: boolean };
export type Outcome = "allowed" | "warned" | "changed" | "reported" | "rejected";

export type Incident = {
  what: "image" | "registry" | "registries";
  name: string;
  moment: "empty" | "meanwhile" | "reboot";
};

export type Namespaces = { only: string[] } | { exclude: string[] };
export type Choice = { registries: string[]; namespaces: Namespaces | null; isMonitor: boolean };
export type Question = { incident: Incident; choice: Choice };

export type Effect = {
  outcome: Outcome;
  rules: string[];
  reasons: string[];
  after: End;
  isUndone: boolean;
};

export type Row = {
  kind: string;
  namespace: string;
  name: string;
  number: number;
  nodes: number;
  images: string[];
  before: End;
  results: (Effect | null)[];
};

export type Ends = { half: number; waits: number; rejected: number; old: number };

export type Line = {
  name: string;
  purpose: string;
  needs: string;
  isAudit: boolean;
  problem: string;
  selected: number;
  changed: number;
  warned: number;
  rejected: number;
  reported: number;
  undone: number;
  before: Ends;
  after: Ends;
};

export type Report = {
  answer: { files: string[]; sentence: string; unsaved: string };
  incidentWords: string;
  kinds: Record<string, number>;
  assumed: string[];
  workloads: number;
  done: number;
  presets: Line[];
  registries: { name: string; pods: number; doubt: string | null }[];
  images: string[];
  namespaces: string[];
};

export type Step = {
  list: string;
  name: string;
  image: string;
  pullPolicy: string;
  isSidecar: boolean;
  start: "current" | "copy" | "waits" | "never";
  isGone: boolean;
};
export type Start = { incident: string; steps: Step[]; end: End };

export type Request = Record<string, unknown> & { object?: unknown };

/** This policy's answer, as its module writes it. */
export type Answer = {
  accepted: boolean;
  message?: string | null;
  code?: number | null;
  mutated_object?: unknown;
  warnings?: string[] | null;
  audit_annotations?: Record<string, string> | null;
};
