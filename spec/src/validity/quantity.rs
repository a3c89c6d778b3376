//! Quantities of resources: `500m`, `1.5Gi`, `2e3`.

/// The number of billionths in 1. Quantities are counted in billionths.
const BILLION: i128 = 1_000_000_000;

/// Reads a quantity and returns it in billionths, rounded towards zero. If the exponent is below -9,
/// the result is zero. `None` means that the text is not a quantity, or that a number is too large
/// for an `i128`. Source: `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go` `ParseQuantity`.
#[must_use]
pub fn billionths(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, divisor) = scale(suffix)?;
    let unit = unit.checked_mul(BILLION)? / divisor;
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut total = whole.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.chars() {
        place /= 10;
        total = total.checked_add(place.checked_mul(i128::from(digit.to_digit(10)?))?)?;
    }
    total.checked_mul(sign)
}

/// Returns the factor of a suffix as a numerator and a denominator. `None` means that the suffix is
/// unknown, or that the factor is too large.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let decimal = |power: u32| 10_i128.checked_pow(power).map(|factor| (factor, 1));
    let binary = |power: u32| 1024_i128.checked_pow(power).map(|factor| (factor, 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, BILLION)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1_000)),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let factor = 10_i128.checked_pow(exponent.unsigned_abs())?;
            Some(if exponent < 0 {
                (1, factor)
            } else {
                (factor, 1)
            })
        }
    }
}
