//! Runs the rows on this policy's crate, and checks the rows themselves.

use std::collections::BTreeSet;

use consistent_pull_policy_promises::promises::broken_promises;
use consistent_pull_policy_promises::repository::all_captured;
use consistent_pull_policy_rows::{Host, Native, rows};

#[test]
fn the_crate_does_what_the_rows_say() {
    let (mut count, mut differences) = (0, Vec::new());
    for row in rows().expect("the rows") {
        for case in row.cases().expect("the cases") {
            count += 1;
            let evaluation = Native.evaluate(&case).expect("an answer");
            differences.extend(row.difference(&case, &evaluation));
        }
    }
    let number = differences.len();
    assert!(
        number == 0,
        "{number} of {count} cases\n{}",
        differences.join("\n")
    );
}

#[test]
fn the_crate_keeps_its_promises_for_each_row() {
    let mut broken = Vec::new();
    for row in rows()
        .expect("the rows")
        .iter()
        .filter(|row| !row.is_invalid())
    {
        for case in row.cases().expect("the cases") {
            for one in broken_promises(&Native, &case.promised()).expect("answers") {
                broken.push(format!("{} {:?}\n  {one:?}", row.place, case.values));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn each_captured_review_has_a_row() {
    let rows = rows().expect("the rows");
    let reviews: BTreeSet<&str> = rows.iter().flat_map(|row| row.reviews()).collect();
    for (name, _) in all_captured() {
        assert!(reviews.contains(&*name), "no row has {name}");
    }
}
