// SPDX-License-Identifier: Apache-2.0
//! Arrays whose members are drives of this machine.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_spec::store::Session;
use forebay_spec::store::member::Member;
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
    let mut found: BTreeMap<_, Vec<(Member, String)>> = BTreeMap::new();
    for name in names {
        let path = folder.join(&name);
        let disk = FileDisk::open(&path).ok();
        if let Some(member) = disk.and_then(|disk| member_of(&disk)) {
            let place = (member, path.display().to_string());
            found.entry(member.array).or_default().push(place);
        }
    }
    found.into_values().filter_map(|found| of(&found)).collect()
}

/// An array of these members; those that the newest leaves out are not here.
fn of(found: &[(Member, String)]) -> Option<FoundArray> {
    let newest = found.iter().map(|(member, _)| member);
    let newest = newest.max_by_key(|member| member.generation)?;
    let mut members = vec![None; newest.stripes.drives as usize];
    for (member, path) in found.iter().filter(|(member, _)| newest.has(member.number)) {
        if let Some(place) = members.get_mut(member.number as usize) {
            *place = Some(path.clone());
        }
    }
    Some(FoundArray {
        uuid: Session(newest.array).to_string(),
        parity: newest.stripes.parity,
        stripe_unit: newest.stripes.stripe_unit,
        members,
    })
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
