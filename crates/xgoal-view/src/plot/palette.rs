//! Colours that colour-blind readers tell apart.

/// Okabe and Ito's, without black.
const BASE: [u32; 7] = [0x0072B2, 0xE69F00, 0x009E73, 0xD55E00, 0x56B4E9, 0xCC79A7, 0xF0E442];
/// What has no colour of its own.
pub const OTHER: u32 = 0x999999;
/// Cividis at equal steps, for numbers.
const RAMP: [u32; 6] = [0x00204D, 0x31446B, 0x666970, 0x958F78, 0xCBBA69, 0xFFEA46];
/// Colours there are for categories.
pub const COLOURS: usize = 3 * BASE.len();

/// The colour of category `i`: the base colours, then darker, then lighter ones, then grey.
pub fn category(i: usize) -> u32 {
    let base = BASE[i % BASE.len()];
    match i / BASE.len() {
        0 => base,
        1 => mix(base, 0x000000, 0.45),
        2 => mix(base, 0xFFFFFF, 0.55),
        _ => OTHER,
    }
}

/// The colour of a share from 0 to 1.
pub fn ramp(share: f64) -> u32 {
    let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let low = (at as usize).min(RAMP.len() - 2);
    mix(RAMP[low], RAMP[low + 1], at - low as f64)
}

fn mix(a: u32, b: u32, share: f64) -> u32 {
    let channel = |shift: u32| {
        let (x, y) = (f64::from(a >> shift & 255), f64::from(b >> shift & 255));
        ((x + (y - x) * share).round() as u32) << shift
    };
    channel(16) | channel(8) | channel(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_differ_and_the_ramp_reaches_its_ends() {
        let mut all: Vec<u32> = (0..COLOURS).map(category).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), COLOURS);
        assert_eq!(category(COLOURS), OTHER);
        assert_eq!((ramp(-1.0), ramp(1.0)), (RAMP[0], RAMP[5]));
    }
}
