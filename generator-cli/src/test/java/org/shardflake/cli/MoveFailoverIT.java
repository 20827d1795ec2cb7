/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.shardflake.cli.NoteShards.execute;
import static org.shardflake.cli.NoteShards.number;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.shardflake.ShardSet;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.cluster.SavedServers;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.move.exception.MoveException;

/**
 * A server of a move fails over to a standby that was behind: its slots are gone, and rows of the last moment that the other
 * server may still have. The catalog is on a server of its own; shards 0 and 1 are on db1, 2 and 3 on db2.
 */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
class MoveFailoverIT {

    private static final Duration SOON = Duration.ofMinutes(2);

    @SuppressWarnings("NullAway.Init") // by save
    private static SavedServers saved;

    private PostgresCluster cluster;
    private PostgresServer db1;
    private PostgresServer db2;

    @SuppressWarnings("NullAway.Init") // by create
    private PostgresStandby standby;

    @SuppressWarnings("NullAway.Init") // by create
    private NoteShards notes;

    @BeforeAll
    static void save(@TempDir Path directory) throws IOException {
        saved = NoteShards.saved(directory, false);
    }

    @BeforeEach
    void start() {
        cluster = saved.start();
        db1 = cluster.server(1);
        db2 = cluster.server(2);
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    /** With rows in shard 1, and a standby of the one that will fail. */
    private void create(PostgresServer failing) throws SQLException {
        standby = cluster.standbyOf(failing);
        notes = new NoteShards(
                cluster.server(0).uri("postgres"), Map.of("db1", url(db1, failing), "db2", url(db2, failing)));
        notes.areHere();
        execute(db1, "INSERT INTO shard_0001.note SELECT n, 'old' FROM generate_series(1, 1000) n");
    }

    private String url(PostgresServer server, PostgresServer failing) {
        return server == failing ? standby.uriOfBoth("postgres") : server.uri("postgres");
    }

    private void shows(String problem) {
        Result status = notes.launch("move", "status", "1");
        assertThat(status.exitCode()).as(status.toString()).isZero();
        assertThat(status.out()).contains(problem);
    }

    private void doctorFinds(String check) {
        Result doctor = notes.launch("doctor");
        assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out()).containsPattern("problem +" + check);
    }

    private static long rows(PostgresServer server) throws SQLException {
        return number(server, "SELECT count(*) FROM shard_0001.note");
    }

    /** Rows that are acknowledged, and that the other server of the move has confirmed: it is not sent them again. */
    private static void write(PostgresServer here, PostgresServer other) throws SQLException {
        execute(here, "INSERT INTO shard_0001.note SELECT n, 'new' FROM generate_series(1001, 1010) n");
        long written = number(here, "SELECT pg_current_wal_insert_lsn() - '0/0'");
        await().atMost(SOON)
                .until(() -> number(
                                here,
                                "SELECT max(confirmed_flush_lsn - '0/0') FROM pg_replication_slots WHERE slot_type = 'logical'")
                        >= written);
        assertThat(rows(other)).isEqualTo(1010);
    }

    private PostgresServer failOver(PostgresServer server) {
        server.crash();
        standby.promote();
        return standby;
    }

    private void isEnded() throws SQLException {
        NoteShards.isEnded(db1);
        NoteShards.isEnded(db2);
        Result doctor = notes.launch("doctor");
        assertThat(doctor.exitCode()).as(doctor.toString()).isZero();
    }

    @Test
    void anOldPrimaryThatComesBackIsFound() throws SQLException {
        create(db2);
        PostgresServer old = db2;
        db2 = failOver(db2);
        assertThat(notes.launch("doctor").out()).doesNotContain("two-primaries");

        old.start();

        doctorFinds("db2 +two-primaries +has .* \\(timeline 2\\) and .* \\(timeline 1\\), which all take writes");
    }

    @Test
    void aTargetThatFailsOverTakesNoShardAndTheMoveIsBegunAgain() throws SQLException {
        create(db2);
        notes.succeed("move", "start", "--shards=1", "--to=db2");
        standby.disconnect();
        write(db1, db2);
        db2 = failOver(db2);

        shows("db2 has no replication slot");
        doctorFinds("db2 +move-broken +lacks the replication slot of move 1,");
        notes.fails(ExitCodes.FAILURE, "there would be no way back: ", "move", "cutover", "1");
        notes.fails(ExitCodes.PRECONDITION, "shard 1 is still on db1", "move", "complete", "1", "--yes");
        execute(db1, "INSERT INTO shard_0001.note VALUES (2000, 'meanwhile')");

        notes.succeed("move", "cancel", "1", "--yes");
        isEnded();
        notes.succeed("move", "run", "--shards=1", "--to=db2");
        assertThat(rows(db2)).isEqualTo(1011);
    }

    @Test
    void aTargetThatFailsOverBeforeItHasCaughtUpIsNotSaidToFollow() throws SQLException {
        create(db2);
        Mover mover = notes.mover(new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.CAUGHT_UP && db2 != standby) {
                    try {
                        standby.awaitReplay();
                        standby.disconnect();
                        write(db1, db2);
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                    db2 = failOver(db2);
                }
            }
        });
        long id = mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test").id();

        assertThatThrownBy(() -> mover.follow(id))
                .isInstanceOf(MoveException.class)
                .hasMessageContaining("db2 has no replication slot");

        assertThat(rows(db2)).isEqualTo(1000);
        notes.succeed("move", "cancel", "1", "--yes");
        isEnded();
    }

    @Test
    void rowsThatOnlyTheSourceStillHasAreNotLostWhenTheTargetFailsOverAfterACutover() throws SQLException {
        create(db2);
        notes.succeed("move", "run", "--keep", "--shards=1", "--to=db2");
        standby.awaitReplay();
        standby.disconnect();
        write(db2, db1);
        db2 = failOver(db2);
        assertThat(rows(db2)).isEqualTo(1000);

        shows("db2 has no replication slot");
        doctorFinds("db2 +move-broken +lacks the replication slot of move 1,");
        notes.fails(ExitCodes.FAILURE, "db2 has no replication slot", "move", "complete", "1", "--yes");
        notes.fails(ExitCodes.PRECONDITION, "db2 has lost the replication slot", "move", "reverse", "1", "--shards=1");
        notes.fails(
                ExitCodes.VERIFICATION,
                "shard_0001.note: 10 extra (1001) ",
                "move",
                "cancel",
                "1",
                "--keep-moved",
                "--yes");
        assertThat(rows(db1)).isEqualTo(1010);

        // What the message says to do.
        execute(db2, "INSERT INTO shard_0001.note SELECT n, 'new' FROM generate_series(1001, 1010) n");
        notes.fails(ExitCodes.FAILURE, "--uncompared", "move", "cancel", "1", "--keep-moved", "--yes");
        notes.succeed("move", "cancel", "1", "--keep-moved", "--uncompared", "--yes");
        isEnded();
        assertThat(rows(db2)).isEqualTo(1010);
    }

    /** Its standby had got the rows of before, but not the last ones, nor that the shard is its own. */
    @Test
    void aShardWhoseTargetHasLostTheCutoverGoesBackToTheSource() throws SQLException {
        create(db2);
        notes.succeed("move", "start", "--shards=1", "--to=db2");
        standby.awaitReplay();
        standby.disconnect();
        execute(db1, "INSERT INTO shard_0001.note VALUES (1001, 'before the cutover')");
        notes.succeed("move", "cutover", "1");
        execute(db2, "INSERT INTO shard_0001.note VALUES (1002, 'after it')");
        await().atMost(SOON).until(() -> rows(db1) == 1002);
        db2 = failOver(db2);
        assertThat(rows(db2)).isEqualTo(1000);

        doctorFinds("catalog +move-interrupted ");
        notes.launch("doctor", "--fix");
        execute(db1, "INSERT INTO shard_0001.note VALUES (1003, 'after the failover')");
        assertThatThrownBy(() -> execute(db2, "INSERT INTO shard_0001.note VALUES (1003, 'astray')"))
                .hasMessageContaining("shard 1");
        notes.fails(ExitCodes.FAILURE, "there would be no way back: ", "move", "cutover", "1");
        notes.succeed("move", "cancel", "1", "--yes");

        isEnded();
        assertThat(rows(db1)).isEqualTo(1003);
        notes.succeed("move", "run", "--shards=1", "--to=db2");
        assertThat(rows(db2)).isEqualTo(1003);
    }

    @Test
    void aShardWhoseTargetHasLostTheCutoverWhileTheMoveEndsGoesBackToTheSource() throws SQLException {
        create(db2);
        notes.succeed("move", "start", "--shards=1", "--to=db2");
        standby.awaitReplay();
        standby.disconnect();
        notes.succeed("move", "cutover", "1");
        execute(db2, "INSERT INTO shard_0001.note VALUES (1001, 'after it')");
        Mover mover = notes.mover(new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.ENDING && db2 != standby) {
                    db2 = failOver(db2);
                }
            }
        });

        assertThatThrownBy(() -> mover.complete(1)).hasMessageContaining("shard 1 is still on db1");

        execute(db1, "INSERT INTO shard_0001.note VALUES (1002, 'after the failover')");
        notes.succeed("move", "cancel", "1", "--yes");
        isEnded();
        assertThat(rows(db1)).isEqualTo(1002);
    }

    @Test
    void aShardWhoseTargetHasLostTheWholeMoveGoesBackToTheSource() throws SQLException {
        create(db2);
        standby.awaitReplay();
        standby.disconnect();
        notes.succeed("move", "run", "--keep", "--shards=1", "--to=db2");
        db2 = failOver(db2);
        assertThat(number(db2, "SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_0001'"))
                .isZero();

        // What doctor says to do.
        doctorFinds("(?s)db2 +move-broken .*end the move with shardflake move cancel 1 --keep-moved");
        notes.succeed("move", "cancel", "1", "--keep-moved", "--yes");
        execute(db1, "INSERT INTO shard_0001.note VALUES (1001, 'after the failover')");

        isEnded();
        assertThat(rows(db1)).isEqualTo(1001);
    }

    @Test
    void aShardThatIsSealedWhenItsTargetLosesTheCutoverTakesWritesOnTheSource() throws SQLException {
        create(db2);
        notes.succeed("move", "start", "--shards=1", "--to=db2");
        standby.awaitReplay();
        standby.disconnect();
        notes.succeed("move", "cutover", "1");
        Mover mover = notes.mover(new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.ENDING && db2 != standby) {
                    db2 = failOver(db2);
                }
            }
        });

        mover.cancel(1, Mover.End.KEPT);

        execute(db1, "INSERT INTO shard_0001.note VALUES (1001, 'after the failover')");
        isEnded();
        assertThat(rows(db1)).isEqualTo(1001);
    }

    /** Its copy is from before an earlier move took it away, so it is open, and routers that know the new map write to it. */
    @Test
    void anOldCopyThatHasTakenWritesSinceTheTargetFailedOverIsKept() throws SQLException {
        create(db2);
        standby.awaitReplay();
        standby.disconnect();
        notes.succeed("move", "run", "--shards=2", "--to=db1");
        notes.succeed("move", "run", "--keep", "--shards=2", "--to=db2");
        db2 = failOver(db2);
        execute(db2, "INSERT INTO shard_0002.note VALUES (1, 'after the failover')");

        notes.launch("doctor", "--fix");
        notes.fails(ExitCodes.PRECONDITION, "", "move", "cancel", "2", "--yes");
        notes.launch("move", "cancel", "2", "--keep-moved", "--yes");

        assertThat(number(db2, "SELECT count(*) FROM shard_0002.note")).isEqualTo(1);
    }

    @Test
    void rowsThatOnlyTheTargetStillHasAreNotLostWhenTheSourceFailsOver() throws SQLException {
        create(db1);
        notes.succeed("move", "start", "--shards=1", "--to=db2");
        standby.awaitReplay();
        standby.disconnect();
        write(db1, db2);
        db1 = failOver(db1);
        assertThat(rows(db1)).isEqualTo(1000);

        shows("db1 has no replication slot");
        doctorFinds("db1 +move-broken +lacks the replication slot of move 1,");
        notes.fails(ExitCodes.PRECONDITION, "db1 has lost the replication slot", "move", "cutover", "1");
        notes.fails(ExitCodes.VERIFICATION, "shard_0001.note: 10 extra (1001) ", "move", "cancel", "1", "--yes");
        assertThat(rows(db2)).isEqualTo(1010);

        execute(db1, "INSERT INTO shard_0001.note SELECT n, 'new' FROM generate_series(1001, 1010) n");
        notes.succeed("move", "cancel", "1", "--yes");
        isEnded();
        assertThat(rows(db1)).isEqualTo(1010);
    }

    /** It does not know of the cutover, so it takes a write of a router with an old map, and what it has not got since it will never get. */
    @Test
    void aSourceThatFailsOverToBeforeACutoverIsClosedAgainAndItsCopyIsFoundToDiffer() throws SQLException {
        failOverToBeforeTheCutover();
        execute(db1, "INSERT INTO shard_0001.note VALUES (1999, 'astray')");

        doctorFinds("catalog +move-interrupted ");
        notes.fails(ExitCodes.VERIFICATION, "copies of shard 1 differ", "move", "complete", "1", "--yes");
        assertThatThrownBy(() -> execute(db1, "INSERT INTO shard_0001.note VALUES (2000, 'astray')"))
                .hasMessageContaining("shard 1");
        notes.fails(ExitCodes.FAILURE, "there would be no way back", "move", "reverse", "1", "--shards=1");
        execute(db2, "INSERT INTO shard_0001.note VALUES (2000, 'meanwhile')");

        notes.fails(ExitCodes.VERIFICATION, "differ", "move", "cancel", "1", "--keep-moved", "--yes");
        notes.succeed("move", "cancel", "1", "--keep-moved", "--uncompared", "--yes");
        isEnded();
        assertThat(rows(db2)).isEqualTo(1011);
    }

    @Test
    void theCopyOnASourceThatFailedOverToBeforeACutoverMayLackRows() throws SQLException {
        failOverToBeforeTheCutover();

        Result completed = notes.launch("move", "complete", "1", "--yes");

        assertThat(completed.exitCode()).as(completed.toString()).isZero();
        assertThat(completed.err())
                .contains("db1 has failed over or was restored, and its copies of shard 1 lack rows that db2 has");
        isEnded();
        assertThat(rows(db2)).isEqualTo(1010);
    }

    private void failOverToBeforeTheCutover() throws SQLException {
        create(db1);
        notes.succeed("move", "start", "--shards=1", "--to=db2");
        standby.awaitReplay();
        standby.disconnect();
        notes.succeed("move", "cutover", "1");
        write(db2, db1);
        db1 = failOver(db1);
    }
}
