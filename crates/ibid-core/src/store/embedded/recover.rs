//! Catching up: what the derived index lacks is taken from the record, and what is beyond repair is made
//! anew beside the old one.

use std::{fs, io, path::Path};

use ibid_api::{DocumentId, Generation};
use rusqlite::Connection;

use super::{
    error,
    lexical::{self, Lexical, Load, Loaded, Origin, Writer},
    read::{self, State},
};
use crate::store::{StoreError, StoreResult};

/// From this many changed documents on, writing is done with more memory.
const MANY_DOCUMENTS: i64 = 300;

/// What a derived index needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing.
    Nothing,
    /// Everything written after this.
    Changes(Generation),
    /// To be made anew.
    Rebuild,
}

/// Looks at the index as it is on disk.
pub(super) fn need(lexical: &Lexical, state: &State) -> Need {
    if lexical.is_marked_damaged() {
        return Need::Rebuild;
    }
    let Some(origin) = Loaded::open(lexical.directory()).map(|loaded| loaded.origin) else {
        return Need::Rebuild;
    };
    // An index that is ahead was made from a record that has been replaced by an older copy of itself.
    let is_of_this_record = origin.record == state.record && origin.generation <= state.generation;
    if !is_of_this_record || origin.generation < state.pruned_generation {
        Need::Rebuild
    } else if origin.generation >= state.text_generation {
        Need::Nothing
    } else {
        Need::Changes(origin.generation)
    }
}

/// Brings the index to the state of the record that the connection sees.
pub(super) fn catch_up(
    connection: &Connection,
    directory: &Path,
    lexical: &Lexical,
    need: Need,
    state: &State,
) -> StoreResult<()> {
    let origin = Origin { record: state.record, generation: state.generation };
    if let Need::Changes(since) = need {
        let outcome = lexical::undisturbed(|| {
            let writer = Writer::open(lexical.directory(), load(connection, since)?)?;
            write(connection, writer, Some(since), origin)
        });
        match outcome {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) if !is_about_the_index(&error) => return Err(error),
            // Whatever is wrong with the index, the record is not.
            Some(Err(_)) | None => {}
        }
    }
    rebuild(connection, directory, lexical.directory(), origin)
}

/// Whether making the index anew could help.
fn is_about_the_index(error: &StoreError) -> bool {
    matches!(error, StoreError::Other(_))
}

fn rebuild(connection: &Connection, directory: &Path, target: &Path, origin: Origin) -> StoreResult<()> {
    let new = directory.join("lexical.new");
    let old = directory.join("lexical.old");
    remove_directory(&new)?;
    remove_directory(&old)?;
    let writer = Writer::create(&new, load(connection, Generation(0))?)?;
    write(connection, writer, None, origin)?;
    // Readers that come between the two renames find nothing, and say that the index is behind.
    match fs::rename(target, &old) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(error::file(&problem)),
        _ => {}
    }
    fs::rename(&new, target).map_err(|problem| error::file(&problem))?;
    remove_directory(&old)
}

/// Removes a directory, or whatever else has its name.
pub(super) fn remove_directory(directory: &Path) -> StoreResult<()> {
    let removed = match fs::symlink_metadata(directory) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(directory),
        Ok(_) => fs::remove_file(directory),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(problem) => Err(problem),
    };
    removed.map_err(|problem| error::file(&problem))
}

fn load(connection: &Connection, since: Generation) -> StoreResult<Load> {
    let changed: i64 = connection
        .prepare_cached("SELECT count(*) FROM documents WHERE generation > ?1")?
        .query_row([since.0 as i64], |row| row.get(0))?;
    Ok(if changed < MANY_DOCUMENTS { Load::Light } else { Load::Heavy })
}

/// Writes what changed, one document at a time; all of it when there is nothing yet.
fn write(
    connection: &Connection,
    mut writer: Writer,
    since: Option<Generation>,
    origin: Origin,
) -> StoreResult<()> {
    let after = since.unwrap_or_default().0 as i64;
    if since.is_some() {
        let mut removed = connection.prepare_cached("SELECT document FROM removed WHERE generation > ?1")?;
        let mut rows = removed.query([after])?;
        while let Some(row) = rows.next()? {
            writer.remove(DocumentId(row.get(0)?));
        }
    }
    let mut changed =
        connection.prepare_cached("SELECT id FROM documents WHERE generation > ?1 ORDER BY id")?;
    let mut rows = changed.query([after])?;
    while let Some(row) = rows.next()? {
        let document = DocumentId(row.get(0)?);
        if since.is_some() {
            writer.remove(document);
        }
        for summary in read::summaries(connection, &[document])? {
            writer.add(&summary, &read::chunks_of(connection, document)?)?;
        }
    }
    writer.commit(origin)
}

/// Forgets removals that every derived index has seen, once there are many.
pub(super) fn prune_removals(connection: &Connection, lexical: Generation) -> StoreResult<()> {
    connection.execute(
        "UPDATE state SET pruned_generation =
         max(pruned_generation, min(?1, coalesce((SELECT min(generation) FROM derived), ?1)))",
        [lexical.0 as i64],
    )?;
    connection
        .execute("DELETE FROM removed WHERE generation <= (SELECT pruned_generation FROM state)", [])?;
    Ok(())
}

/// Whether so many removals are listed that forgetting them is worth a write.
pub(super) fn pruning_is_due(connection: &Connection) -> StoreResult<bool> {
    let listed: i64 =
        connection.prepare_cached("SELECT count(*) FROM removed")?.query_row([], |row| row.get(0))?;
    Ok(listed > 1000)
}
