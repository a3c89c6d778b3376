//! The corpus: the requests that create the Pods of `test_data/pods`, and the captured requests of
//! `test_data/reviews` that create a Pod or a Job.

use consistent_pull_policy_promises::corpus::{create_request, fill_in_defaults, manifests};
use consistent_pull_policy_promises::repository::all_captured;
use serde_json::{Value, json};

/// The requests of the corpus. To give the preset jobs enough Pods, each Pod of `test_data/pods` has
/// the label of a Job's Pod, unless its `restartPolicy` is `Always`.
pub(super) fn requests() -> Vec<Value> {
    let pods = manifests().into_iter().map(|(_, mut pod)| {
        fill_in_defaults(&mut pod);
        if pod["spec"]
            .get("restartPolicy")
            .is_some_and(|policy| policy != "Always")
        {
            pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] = json!("job");
        }
        create_request(&pod)
    });
    let captured = all_captured().into_iter().map(|(_, request)| request);
    let created = captured.filter(|request| {
        // Audits name no user.
        request["operation"] == "CREATE"
            && ["Pod", "Job"].contains(&request["kind"]["kind"].as_str().expect("a kind"))
            && request["userInfo"]["username"].is_string()
    });
    let mut requests: Vec<Value> = pods.chain(created).collect();
    for request in &mut requests {
        // They are long, and nothing reads them.
        request["object"]["metadata"]["managedFields"].take();
    }
    assert!(requests.len() > 50, "{}", requests.len());
    requests
}
