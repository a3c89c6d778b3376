//! Compares this policy's image patterns with those of the promises.

use consistent_pull_policy::image;
use consistent_pull_policy_promises::image::Reference;
use consistent_pull_policy_promises::pattern::names_image;

/// The repositories of images. Some of them are one repository in several spellings.
const IMAGES: &str = "app docker.io/library/app library/app index.docker.io/library/app docker.io/app \
    registry-1.docker.io/library/app index.docker.io:443/library/app r.example.com/team/app \
    R.Example.com/team/app r.example.com:443/team/app evil.test/r.example.com/team/app \
    r.example.com:5000/team/app r.example.com:05000/team/app \
    R.example.com:0443/team/app REGISTRY/team/app localhost:5000/a/b [::1]:5000/a/b a_b.example.com/x";
const TAGS: [&str; 5] = ["", ":latest", ":v1", ":v2", ":Latest"];
/// The parts of patterns: a host or none, a repository, a tag.
const HOSTS: &str = "docker.io/ docker.i?/ *.io/ index.docker.io/ registry-1.docker.io:443/ */ *:443/ \
    *:05000/ *:*/ r.example.com/ R.Example.com:0443/ r.example.com:5000/ r.example.com:05000/ \
    r.example.com:*/ *.example.com/ *.example.com:443/ ?.example.com:0443/ r.*:05000/ r.*:443/ \
    *example.com:*/ localhost:5000/ [::?]:05000/ [::1]:*/";
const REPOSITORIES: &str = "app a* * a?p library/app library/* team/app team/* */app t*p";
const PATTERN_TAGS: [&str; 5] = ["", ":v1", ":v*", ":*", ":latest"];

#[test]
fn both_readings_of_a_pattern_match_the_same_images() {
    let images = IMAGES.split_whitespace();
    let images = images.flat_map(|image| TAGS.map(|tag| [image, tag].concat()));
    let images: Vec<String> = images.collect();
    let mut matches = 0;
    for host in HOSTS.split_whitespace().chain([""]) {
        for repository in REPOSITORIES.split_whitespace() {
            for tag in PATTERN_TAGS {
                let written = [host, repository, tag].concat();
                let pattern = image::Pattern::try_from(written.clone()).expect("a valid pattern");
                for image in &images {
                    let names = image::Reference::parse(image).expect(image).names();
                    let reference = Reference::parse(image).expect(image);
                    let expected = names_image(&written, &reference);
                    assert_eq!(pattern.matches(&names), expected, "{written} {image}");
                    matches += usize::from(expected);
                }
            }
        }
    }
    assert!(matches > 1_000, "{matches}");
}
