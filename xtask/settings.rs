//! Checks settings as a policy server does when it starts. Each line of the standard input is one
//! JSON value, and each line of the output is `accepted`, or the module's error.

use std::io::{self, BufRead as _};

use consistent_pull_policy::settings::Settings;

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        match Settings::check(line?.as_bytes()) {
            Ok(_) => println!("accepted"),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
