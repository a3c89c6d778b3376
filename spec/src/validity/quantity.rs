//! Quantities of resources: `500m`, `1.5Gi`.

const BILLION: i128 = 1_000_000_000;

/// Reads a quantity and returns it in billionths. `None` means that the text is no quantity of this form:
/// digits, perhaps with a fraction, and a suffix. Source:
/// `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go` `ParseQuantity`.
#[must_use]
pub fn billionths(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut unit = unit(suffix)?;
    let mut total = unit.checked_mul(whole.parse().ok()?)?;
    for digit in fraction.chars() {
        unit /= 10;
        total += unit * i128::from(digit.to_digit(10)?);
    }
    Some(total)
}

/// Returns the number of billionths in the unit of a suffix.
fn unit(suffix: &str) -> Option<i128> {
    Some(match suffix {
        "n" => 1,
        "u" => 1_000,
        "m" => 1_000_000,
        "" => BILLION,
        "k" => BILLION * 1_000,
        "M" => BILLION * 1_000_000,
        "G" => BILLION * BILLION,
        "Ki" => BILLION * 1_024,
        "Mi" => BILLION * 1_024 * 1_024,
        "Gi" => BILLION * 1_024 * 1_024 * 1_024,
        "Ti" => BILLION * 1_024 * 1_024 * 1_024 * 1_024,
        _ => return None,
    })
}
