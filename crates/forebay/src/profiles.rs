// SPDX-License-Identifier: Apache-2.0
//! `forebay profiles`: what there is, and where each number comes from.

use forebay_draw::text::{Grid, Page};
use forebay_model::Profile;
use serde::Serialize;

use crate::args::ProfilesArgs;
use crate::failure::{Exit, Result};
use crate::measure;
use crate::report::{self, Report};

#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    field: String,
    value: u64,
    kind: String,
    source: String,
}

#[derive(Serialize)]
struct Profiles {
    profiles: Vec<Listed>,
}

/// Runs it.
pub fn run(args: &ProfilesArgs) -> Result<Exit> {
    if let (true, Some(name)) = (args.measure, &args.name) {
        return measure::run(args, name);
    }
    let names: Vec<String> = match &args.name {
        Some(name) => vec![name.clone()],
        None => Profile::names().map(str::to_owned).collect(),
    };
    let profiles = names
        .iter()
        .map(|name| load(name))
        .collect::<Result<Vec<_>>>()?;
    let report = Report::new("forebay.profiles/1", Profiles { profiles });
    report::show(&report, || {
        match (&args.name, report.found.profiles.as_slice()) {
            (Some(_), [profile]) => parameters(profile),
            (_, profiles) => list(profiles),
        }
    })?;
    Ok(Exit::Good)
}

fn load(name: &str) -> Result<Listed> {
    let profile = Profile::load(name)?;
    let parameters = profile.sources.iter().map(|row| Parameter {
        field: row.field.clone(),
        value: row.value,
        kind: format!("{:?}", row.kind).to_lowercase(),
        source: row.source.clone(),
    });
    Ok(Listed {
        parameters: parameters.collect(),
        name: profile.name,
        description: profile.description,
    })
}

fn list(profiles: &[Listed]) -> Page {
    let mut page = Page::simulated("Profiles");
    let mut grid = Grid::new("name | description | >parameters");
    for profile in profiles {
        let count = profile.parameters.len().to_string();
        grid.row([&profile.name, &profile.description, &count]);
    }
    page.grid(grid)
        .line("\n  `forebay profiles NAME` shows each parameter and its source.")
        .line("  `forebay profiles NAME --measure` runs the model beside what was measured.")
        .line("  A file of your own: --profile FILE.toml, in the form of profiles/*.toml.");
    page
}

fn parameters(profile: &Listed) -> Page {
    let mut page = Page::simulated(&format!("Profile {}", profile.name));
    page.line(format!("  {}\n", profile.description));
    let mut grid = Grid::new("parameter | >value | is | source").wrap(3, 64);
    for parameter in &profile.parameters {
        let value = parameter.value.to_string();
        grid.row([&parameter.field, &value, &parameter.kind, &parameter.source]);
    }
    page.grid(grid);
    page
}
