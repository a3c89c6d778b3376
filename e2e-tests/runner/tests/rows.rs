//! Runs the rows on this policy's crate.

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
    assert!(count > 0);
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}
