// SPDX-License-Identifier: Apache-2.0
//! Arrays whose members are drives of this machine.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_spec::store::Session;
use forebay_store::{FileDisk, member_of};
use serde::Serialize;

/// An array, as far as its members are here.
#[derive(Debug, Serialize)]
pub struct FoundArray {
    /// Its UUID.
    pub uuid: String,
    /// The last member holds the parity of the others.
    pub parity: bool,
    /// Bytes of a stripe unit.
    pub stripe_unit: u64,
    /// The device that is each member; none: it is not here.
    pub members: Vec<Option<String>>,
}

impl FoundArray {
    /// How many members are not here.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.members.iter().filter(|one| one.is_none()).count()
    }

    /// Whether it opens: all members are here, with parity all but one.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.missing() <= usize::from(self.parity)
    }
}

/// Those of these devices in a folder such as /dev; what cannot be read is passed over.
#[must_use]
pub fn arrays(folder: &Path, names: impl IntoIterator<Item = String>) -> Vec<FoundArray> {
    let mut found = BTreeMap::new();
    for name in names {
        let path = folder.join(&name);
        let disk = FileDisk::open(&path).ok();
        let Some(member) = disk.and_then(|disk| member_of(&disk)) else {
            continue;
        };
        let array = found.entry(member.array).or_insert_with(|| FoundArray {
            uuid: Session(member.array).to_string(),
            parity: member.stripes.parity,
            stripe_unit: member.stripes.stripe_unit,
            members: vec![None; member.stripes.drives as usize],
        });
        if let Some(place) = array.members.get_mut(member.number as usize) {
            *place = Some(path.display().to_string());
        }
    }
    found.into_values().collect()
}

/// Whole block devices of this machine, without those of md, loop and the like.
#[must_use]
pub fn drives() -> Vec<String> {
    let folder = std::fs::read_dir("/sys/block");
    let entries = folder.into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().join("device").exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_spec::stripes::Stripes;
    use forebay_store::{Array, Part};

    #[test]
    fn members_are_found_by_their_superblocks() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["x", "y", "z", "blank"].map(str::to_owned);
        for (name, parity) in [("blank", false), ("x", true)] {
            let disk = FileDisk::create(&folder.path().join(name), 1 << 20).unwrap();
            if parity {
                let new = |name: &str| FileDisk::create(&folder.path().join(name), 1 << 20);
                let disks = [disk, new("y").unwrap(), new("z").unwrap()];
                let parts = disks.map(|disk| Part::new("a drive", Box::new(disk)));
                let stripes = Stripes {
                    drives: 3,
                    stripe_unit: 4096,
                    parity,
                };
                Array::create(parts.into(), stripes, 512).unwrap();
            }
        }
        let all = arrays(folder.path(), names.clone());
        assert_eq!((all.len(), all[0].missing()), (1, 0));
        let two = arrays(folder.path(), names[1..].to_vec());
        assert_eq!((two[0].missing(), two[0].opens()), (1, true));
        let y = Some(folder.path().join("y").display().to_string());
        assert_eq!(two[0].members[..2], [None, y]);
        let one = arrays(folder.path(), names[2..].to_vec());
        assert!(!one[0].opens());
        assert!(arrays(folder.path(), ["none".to_owned()]).is_empty());
    }
}
