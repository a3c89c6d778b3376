//! Image references: the parser of this policy and the regular expression of the specification give
//! the same result for any text.
#![no_main]

use consistent_pull_policy::image::Reference;
use consistent_pull_policy_spec::image;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let specified = image::Reference::parse(text).filter(|_| !image::is_image_id(text));
    let parsed = Reference::parse(text).ok();
    assert_eq!(
        parsed.map(|image| image.repository()),
        specified.as_ref().map(image::Reference::name),
    );
    if let (Some(parsed), Some(specified)) = (parsed, specified) {
        assert_eq!(parsed.digest(), specified.digest.as_deref());
        assert_eq!(parsed.written(), specified.spelling);
        assert_eq!(parsed.repository_and_tag(), specified.name_and_tag());
    }
});
