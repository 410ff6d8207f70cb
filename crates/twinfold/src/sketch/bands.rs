//! Bands: groups of signature values, each hashed to one key.
//!
//! Two documents that agree in all rows of a band share its key. Keys hold the band's number, so
//! equal values in different bands do not meet.
//!
//! - `blake2b`: BLAKE2b (digest size 8) of `"{band}:"` and the band's values in decimal, joined by
//!   commas.
//! - `fast`: XXH3-64, seeded with the band's number, of the band's values as little-endian bytes.
//!
//! Published as `"{band:03}:{key in hexadecimal}"`.

use std::io::Write as _;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Banding, HashFamily};

/// Makes the band keys of signatures.
#[derive(Clone, Debug)]
pub struct BandKeys {
    banding: Banding,
    family: HashFamily,
    bytes: Vec<u8>,
}

impl BandKeys {
    /// Keys of `banding` over signatures of `family`.
    pub fn new(banding: Banding, family: HashFamily) -> Self {
        Self {
            banding,
            family,
            bytes: Vec::new(),
        }
    }

    /// The number of bands.
    pub fn len(&self) -> usize {
        self.banding.bands()
    }

    /// Whether there are no bands, which no [`Banding`] allows.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends one key for each band of `signature` to `keys`.
    pub fn append(&mut self, signature: &[u64], keys: &mut Vec<u64>) {
        let rows = self.banding.rows();
        for (band, values) in signature
            .chunks_exact(rows)
            .take(self.banding.bands())
            .enumerate()
        {
            self.bytes.clear();
            keys.push(match self.family {
                HashFamily::Fast => {
                    for value in values {
                        self.bytes.extend_from_slice(&value.to_le_bytes());
                    }
                    xxh3_64_with_seed(&self.bytes, band as u64)
                }
                HashFamily::Blake2b => {
                    // Writing to a vector cannot fail.
                    let _ = write!(self.bytes, "{band}:");
                    for (row, value) in values.iter().enumerate() {
                        let comma = if row == 0 { "" } else { "," };
                        let _ = write!(self.bytes, "{comma}{value}");
                    }
                    let digest = blake2b_simd::Params::new().hash_length(8).hash(&self.bytes);
                    digest
                        .as_bytes()
                        .first_chunk()
                        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
                }
            });
        }
    }
}

/// A band key as it is published: `"{band:03}:{key in hexadecimal}"`.
pub fn band_label(band: usize, key: u64) -> String {
    format!("{band:03}:{key:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_in_different_bands_have_different_keys() {
        for family in [HashFamily::Fast, HashFamily::Blake2b] {
            let mut keys = Vec::new();
            BandKeys::new(Banding::new(2, 2, 4).unwrap(), family).append(&[5, 6, 5, 6], &mut keys);
            assert_eq!(keys.len(), 2);
            assert_ne!(keys[0], keys[1]);
        }
        assert_eq!(band_label(3, 0xab), "003:00000000000000ab");
    }
}
