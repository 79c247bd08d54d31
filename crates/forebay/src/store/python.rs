// SPDX-License-Identifier: Apache-2.0
//! `forebay store sql` and `export`: ask the project's Python side, where DuckDB and Arrow are.

use crate::args::values::name_of;
use crate::args::{StoreExport, StoreExportArgs, StoreSqlArgs};
use crate::failure::{Exit, Failure, Result};
use crate::python::{self, plain};

/// Answers in SQL.
pub fn sql(args: &StoreSqlArgs) -> Result<Exit> {
    let mut words = vec!["--".into()];
    words.extend(args.on.disks.iter().map(|disk| plain(disk)));
    words.push(args.query.clone().into());
    python::rows("forebay.store.sql", words)
}

/// Writes a recording as other files.
pub fn export(args: &StoreExportArgs) -> Result<Exit> {
    let parquet = args.to == StoreExport::Parquet;
    if args.payload && !parquet {
        return Err(Failure::input(
            "--payload",
            "given",
            "it is an option of --to parquet",
            "leave it out: the others always have the payloads",
        ));
    }
    let mut words = vec!["--to".into(), name_of(&args.to).into()];
    words.extend(["--by".into(), name_of(&args.by).into()]);
    let switches = [(args.payload, "--payload"), (args.unchecked, "--unchecked")];
    words.extend(switches.iter().filter(|one| one.0).map(|one| one.1.into()));
    if let Some(path) = &args.path {
        words.extend(["--path".into(), plain(path)]);
    }
    words.extend(["--shard-size".into(), args.shard_size.to_string().into()]);
    words.push("--".into());
    words.extend(args.on.disks.iter().map(|disk| plain(disk)));
    words.push(plain(&args.folder));
    python::report("forebay.store.export", words)
}
