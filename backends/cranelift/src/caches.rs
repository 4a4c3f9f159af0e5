//! How large the caches of this machine are.

/// Bytes of the second cache of a core, where the system says it.
pub(crate) fn second() -> Option<usize> {
    let said = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").ok()?;
    bytes(said.trim())
}

/// A number of bytes as Linux writes it, such as `512K`.
fn bytes(said: &str) -> Option<usize> {
    let (number, unit) = match said.strip_suffix(['K', 'M']) {
        Some(number) if said.ends_with('K') => (number, 1 << 10),
        Some(number) => (number, 1 << 20),
        None => (said, 1),
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read() {
        assert_eq!(["512K", "2M", "7"].map(bytes), [Some(512 << 10), Some(2 << 20), Some(7)]);
        assert_eq!(["", "K", "1G", "-1K", "99999999999999999999M"].map(bytes), [None; 5]);
    }
}
