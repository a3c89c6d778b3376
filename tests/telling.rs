//! How much an answer tells: as much as a person reads and an API server takes.

mod common;

use common::{container, pod_create, validate};
use serde_json::{Value, json};

fn containers(count: usize, image: &str) -> Value {
    (0..count)
        .map(|number| container(&format!("c{number}"), image, "Never"))
        .collect()
}

#[test]
fn a_rejection_tells_twenty_findings_and_how_many_more() {
    let last_one = "c19 has no valid image in spec.containers[19].image: \"Bad\" can't be pulled, \
                    its repository has upper-case letters";
    for (count, last) in [
        (20, last_one),
        (21, "and 1 more finding"),
        (23, "and 3 more findings"),
    ] {
        let pod = pod_create(&json!({"containers": containers(count, "Bad")}));
        let answer = validate(&pod, &json!({}));
        let sentences: Vec<&str> = answer.message().split("; ").collect();
        assert_eq!(sentences.len(), count.min(21), "{count}");
        assert_eq!(sentences.last(), Some(&last));
        assert_eq!(answer.audited("findings").len(), count);
    }
}

#[test]
fn ten_lines_are_warnings_and_the_last_counts_what_is_left_out() {
    let settings = json!({"mode": "Warn", "images": {"forbidNever": ["*"]}});
    for (count, end) in [
        (10, "c9 pulls a:1 with Never"),
        (11, "and 2 more warnings"),
        (12, "and 3 more warnings"),
        (15, "and 6 more warnings"),
    ] {
        let pod = pod_create(&json!({"containers": containers(count, "a:1")}));
        let answer = validate(&pod, &settings);
        assert_eq!(answer.warnings().len(), 10, "{count}");
        let last = answer.warnings()[9];
        assert!(last.starts_with(end), "{count}: {last}");
    }
}
