/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.InputStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.replication.Replication;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** What doctor and reconcile find and mend: each test breaks what it names. All shards are on db1, and db2 is empty. */
class DoctorCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 8, directory);
    }

    private Cli.Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), shards.environment(), args);
    }

    /** Runs doctor, which has to find this and nothing else. */
    private Cli.Result finds(String severity, String server, String check) {
        Cli.Result doctor = launch("doctor");
        assertThat(doctor.exitCode())
                .as(doctor.toString())
                .isEqualTo(severity.equals("problem") ? ExitCodes.VERIFICATION : ExitCodes.OK);
        assertThat(doctor.out()).containsPattern("\n%s +%s +%s +".formatted(severity, server, check));
        assertThat(doctor.out().lines().filter(line -> line.matches("(problem|warning) .*")))
                .hasSize(1);
        return doctor;
    }

    private void isMendedBy(String... command) {
        Cli.Result mended = launch(command);
        assertThat(mended.exitCode()).as(mended.toString()).isZero();
        assertThat(mended.out()).contains("fixed ");
        Cli.Result doctor = launch("doctor");
        assertThat(doctor.out()).isEqualTo("2 servers with 8 shards: nothing found\n");
    }

    private void isNotMended() {
        Cli.Result mended = launch("doctor", "--fix");
        assertThat(mended.out()).as(mended.toString()).doesNotContain("fixed ");
    }

    @Test
    void nothing() {
        assertThat(launch("doctor")).isEqualTo(new Cli.Result(0, "2 servers with 8 shards: nothing found\n", ""));
        assertThat(launch("reconcile"))
                .isEqualTo(new Cli.Result(0, "2 servers with 8 shards are as the shard map says\n", ""));
        assertThat(launch("doctor", "-o", "json").out()).isEqualTo("[]\n");
    }

    @Test
    void aShardThatTakesWritesWhereTheMapDoesNotHaveIt() throws SQLException {
        createShard("db2", 3);

        Cli.Result doctor = finds("problem", "db2", "shard-open-elsewhere");

        assertThat(doctor.out())
                .contains("takes writes to shard 3, which the shard map gives to others")
                .contains(
                        "shard-open-elsewhere of db2: close them with shardflake doctor --fix (SELECT shardflake.fence_shard(3)), ");
        assertThat(launch("reconcile", "--dry-run").exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(isFenced("db2", 3)).isFalse();
        assertThat(launch("reconcile").exitCode()).isZero();
        assertThat(isFenced("db2", 3)).isTrue();
        assertThat(isFenced("db1", 3)).isFalse();
        assertThat(finds("warning", "db2", "shard-copy").out())
                .contains("and have no rows")
                .contains("SELECT shardflake.drop_shard(3)");
        isNotMended();
    }

    @Test
    @Tag("full")
    void theCopiesThatASplitLeaves() throws SQLException {
        createShard("db2", 3);
        assertThat(launch("reconcile").exitCode()).isZero();
        shards.executeInCatalog("""
                INSERT INTO shardflake_catalog.split (move, tag, source, target, target_url, shards, phase, standby_started, position, next_xid)
                VALUES (1, 'm1_000000', 'db1', 'db2', 'postgresql://db9/app', '1', 'moving', now(), 0, 0)
                """);
        assertThat(launch("doctor").out())
                .contains("shard-copy of db2: shardflake server split db1 removes them at its end");
        shards.executeInCatalog("UPDATE shardflake_catalog.split SET target = 'db9'");

        // Nothing is left of a server that someone has taken out of the map.
        Cli.Result split = launch("server", "split", "db1", "--yes");

        assertThat(split.err()).isEmpty();
        assertThat(split.exitCode()).isZero();
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.split"))
                .isZero();
    }

    /** ENABLE TRIGGER USER, which pg_restore --disable-triggers ends with, raised a fence. */
    @Test
    void aFenceWhoseTriggerWasEnabledByHand() throws SQLException {
        shards.executeAsUser("db1", "ALTER TABLE shard_0003.account ENABLE TRIGGER USER");
        assertThat(isFenced("db1", 3)).isFalse();

        assertThat(finds("warning", "db1", "fence-trigger").out()).contains("in shard 3 that are open");

        assertThat(launch("doctor", "--fix").exitCode()).isZero();
        assertThat(launch("doctor").out()).doesNotContain("fence-trigger");
    }

    @Test
    void aFenceThatWasTakenDownByHandWhereTheMapDoesNotHaveTheShard() throws SQLException {
        createShard("db2", 3);
        shards.executeAsUser(
                "db2", "SELECT shardflake.fence_shard(3); ALTER TABLE shard_0003.account DISABLE TRIGGER USER");

        finds("problem", "db2", "shard-open-elsewhere");
        shards.executeAsUser("db2", "SELECT shardflake.drop_shard(3, force => true)");
    }

    @Test
    void aTableThatIsReachedFromOutsideItsShard() throws SQLException {
        shards.executeAsUser("db1", "CREATE TABLE public.heir () INHERITS (shard_0003.account)");
        try {
            assertThat(finds("problem", "db1", "table-outside").out()).contains("shard_0003.account with public.heir");
        } finally {
            shards.executeAsUser("db1", "DROP TABLE public.heir");
        }
    }

    @Test
    void aTableOfTheShardsThatLiesInPublic() throws SQLException {
        shards.executeAsUser("db1", "CREATE TABLE public.account (id bigint)");
        try {
            assertThat(finds("warning", "db1", "table-in-public").out())
                    .contains("has tables in public that shards have too: account");
        } finally {
            shards.executeAsUser("db1", "DROP TABLE public.account");
        }
    }

    @Test
    @Tag("full")
    void rowsOfOtherShardsAreFoundWhereNoCheckHoldsThem() throws SQLException {
        shards.executeAsUser(
                "db1",
                "ALTER TABLE shard_0003.account DROP CONSTRAINT IF EXISTS id_of_shard; INSERT INTO shard_0003.account (id, uid, balance) VALUES (17, 3, 0)");
        try {
            assertThat(launch("doctor").out()).doesNotContain("rows-of-other-shards");
            assertThat(launch("doctor", "--rows").out())
                    .contains("rows-of-other-shards")
                    .contains("shard_0003.account on db1 has 1 row of other shards by their id, such as 17");
        } finally {
            shards.executeAsUser(
                    "db1",
                    "DELETE FROM shard_0003.account WHERE id = 17; SELECT shardflake.add_check('shard_0003.account', 'id')");
        }
    }

    @Test
    @Tag("full")
    void aShardThatOnlyTheWrongServerHas() throws SQLException {
        shards.executeAsUser("db1", "SELECT shardflake.drop_shard(3, force => true)");
        createShard("db2", 3);

        assertThat(finds("problem", "db2", "shard-misplaced").out())
                .contains("has it and takes writes, and db1 does not have it")
                .contains("bring it up to date with them by shardflake reconcile --restored");
        isNotMended();
        assertThat(isFenced("db2", 3)).isFalse();
        proposalIsImported();
        assertThat(shards.catalog().load().server(3).name()).isEqualTo("db2");
        assertThat(launch("doctor").out()).isEqualTo("2 servers with 8 shards: nothing found\n");
    }

    private void proposalIsImported() {
        String file = directory.resolve("map.yaml").toString();
        Cli.Result proposed = launch("doctor", "--propose-map=" + file);
        assertThat(proposed.exitCode()).as(proposed.toString()).isZero();
        Cli.Result imported = launch("map", "import", file, "--yes");
        assertThat(imported.exitCode()).as(imported.toString()).isZero();
    }

    /** That of shards which have been in their place from the beginning is not known, and not said: the tests before and after this one. */
    @Test
    @Tag("full")
    void theTimeFromWhichAPlaceIsWrongIsThatOfTheMapsHistory() throws SQLException {
        Cli.Result moved = launch("move", "run", "--shards=3", "--to=db2", "--yes");
        assertThat(moved.exitCode()).as(moved.toString()).isZero();
        String time = shards.catalog().history(1000).stream()
                .filter(change -> change.change().equals("shard placed"))
                .findFirst()
                .orElseThrow()
                .time()
                .truncatedTo(ChronoUnit.SECONDS)
                .toString();
        createShard("db1", 3);
        assertThat(finds("problem", "db1", "shard-open-elsewhere").out())
                .contains("takes writes to shard 3, which the shard map gives to others (since %s)\n".formatted(time));
        shards.executeAsUser("db1", "SELECT shardflake.drop_shard(3, force => true)");
        shards.executeAsUser("db2", "SELECT shardflake.fence_shard(3)");
        assertThat(finds("problem", "db2", "shard-closed").out())
                .contains("refuses writes to shard 3, which the shard map gives it (since %s), and no move has them"
                        .formatted(time));
    }

    @Test
    void aShardThatRefusesWritesWhereTheMapHasIt() throws SQLException {
        shards.executeAsUser("db1", "SELECT shardflake.fence_shard(n) FROM generate_series(3, 4) n");

        assertThat(finds("problem", "db1", "shard-closed").out())
                .contains("refuses writes to shards 3,4, which the shard map gives it, and no move has them");
        isMendedBy("reconcile");
        shards.executeAsUser("db1", "INSERT INTO shard_0003.account (uid, balance) VALUES (3, 1)");
    }

    @Test
    @Tag("full")
    void aClosedShardWhoseNewerRowsAnotherServerMayHave() throws SQLException {
        shards.executeAsUser("db1", "SELECT shardflake.fence_shard(3)");
        createShard("db2", 3);
        shards.executeAsUser("db2", "SELECT shardflake.fence_shard(3)");

        assertThat(launch("doctor").out()).contains("another server may have them too");
        isNotMended();
        assertThat(isFenced("db1", 3)).isTrue();
    }

    @Test
    void aTableWithoutAFence() throws SQLException {
        shards.executeAsUser("db1", "CREATE TABLE shard_0005.note (id bigint PRIMARY KEY)");

        finds("warning", "db1", "fence-missing");
        isMendedBy("doctor", "--fix");
    }

    @Test
    @Tag("full")
    void shardsOfAnotherInstallation() throws SQLException {
        createShard("db2", 4711);

        assertThat(finds("warning", "db2", "shard-unknown").out())
                .contains("has shard 4711, and the shard map goes to 7");
        isNotMended();
    }

    @Test
    @Tag("full")
    void whatIsLeftOfAMoveThatTheCatalogNeverHadIsKept() throws SQLException {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        assertThat(launch("doctor").exitCode()).isZero();

        String tag = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE)
                .moves()
                .get(0)
                .tag();
        shards.executeInCatalog("DELETE FROM shardflake_catalog.move_shard; DELETE FROM shardflake_catalog.move");
        Cli.Result doctor = launch("doctor", "--fix");
        assertThat(doctor.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        long leftovers = shards.leftovers("db1") + shards.leftovers("db2");

        assertThat(doctor.out())
                .contains("shardflake reconcile --forget " + tag)
                .doesNotContain("fixed ");
        assertThat(launch("reconcile").exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isEqualTo(leftovers);
        assertThat(launch("reconcile", "--forget=" + tag).exitCode()).isZero();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        finds("warning", "db2", "shard-copy");
    }

    @Test
    @Tag("full")
    void whatIsLeftOfAMoveThatIsOver() throws SQLException {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        shards.executeInCatalog(
                "DELETE FROM shardflake_catalog.move_shard; DELETE FROM shardflake_catalog.move; INSERT INTO shardflake_catalog.history (version, change, reason) VALUES (2, 'move cancelled', 'move 1, 2 shards')");

        Cli.Result doctor = launch("doctor");

        assertThat(doctor.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        for (String server : new String[] {"db1", "db2"}) {
            assertThat(doctor.out())
                    .containsPattern("warning +%s +orphan-subscription ".formatted(server))
                    .containsPattern("problem +%s +orphan-slot ".formatted(server))
                    .containsPattern("warning +%s +orphan-publication ".formatted(server))
                    .containsPattern("warning +%s +orphan-claim ".formatted(server))
                    .containsPattern("warning +%s +orphan-marker ".formatted(server));
        }
        Cli.Result mended = launch("reconcile");
        assertThat(mended.exitCode()).as(mended.toString()).isZero();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        finds("warning", "db2", "shard-copy");
    }

    @Test
    @Tag("full")
    void aMoveThatWasInterruptedAtACutover() throws SQLException {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        shards.executeAsUser("db1", "SELECT shardflake.fence_shard(3)");
        shards.executeInCatalog(
                "UPDATE shardflake_catalog.move_shard SET phase = 'cutting over', attempt = 1 WHERE shard = 3");

        assertThat(finds("problem", "catalog", "move-interrupted").out())
                .contains("move 1 was interrupted at the cutover of shard 3, which may be closed to writes")
                .contains("then continue with shardflake move cutover 1");
        isMendedBy("reconcile");
        assertThat(isFenced("db1", 3)).isFalse();
        assertThat(launch("move", "cutover").exitCode()).isZero();
    }

    @Test
    @Tag("full")
    void aMoveThatWasInterruptedAfterTheMapWasChanged() throws SQLException {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        assertThat(launch("move", "cutover", "--shards=3").exitCode()).isZero();
        shards.executeAsUser("db2", "SELECT shardflake.fence_shard(3)");

        assertThat(finds("problem", "catalog", "move-interrupted").out()).contains("at the cutover of shard 3,");
        isMendedBy("reconcile");
        assertThat(isFenced("db1", 3)).isTrue();
        assertThat(isFenced("db2", 3)).isFalse();
    }

    @Test
    @Tag("full")
    void aMovingShardThatTakesWritesOnBothServers() throws SQLException {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        shards.executeAsUser("db2", "SELECT shardflake.unfence_shard(3)");

        finds("problem", "catalog", "move-interrupted");
        isMendedBy("reconcile");
        assertThat(isFenced("db1", 3)).isFalse();
        assertThat(isFenced("db2", 3)).isTrue();
    }

    /** The catalog says db1 again, and db2 has the newer rows: nothing is closed, opened or removed by itself. */
    @Test
    @Tag("full")
    void aCatalogThatWasRestoredToATimeBeforeAMove() throws SQLException {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        assertThat(launch("move", "cutover", "--shards=3").exitCode()).isZero();
        shards.executeInCatalog(
                "DELETE FROM shardflake_catalog.move_shard; DELETE FROM shardflake_catalog.move; SET session_replication_role = replica; UPDATE shardflake_catalog.shard SET server = 'db1', epoch = 1 WHERE shard = 3");
        long leftovers = shards.leftovers("db1") + shards.leftovers("db2");

        Cli.Result doctor = launch("doctor", "--fix");

        assertThat(doctor.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out())
                .containsPattern(
                        "problem +db2 +shard-misplaced +shard 3, .*: got it with epoch 2, and the shard map has 1")
                .doesNotContain("fixed ")
                .doesNotContain("schema deploy")
                .doesNotContain("force");
        assertThat(launch("reconcile").exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(isFenced("db1", 3)).isTrue();
        assertThat(isFenced("db2", 3)).isFalse();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isEqualTo(leftovers);

        proposalIsImported();

        assertThat(shards.catalog().load().placement(3).epoch()).isEqualTo(2);
        assertThat(launch("doctor").out())
                .contains("shardflake reconcile --forget m1_")
                .doesNotContain("shard-misplaced");
    }

    @Test
    @Tag("full")
    void idsThatStayedStopped() throws SQLException {
        shards.executeAsUser("db1", "SELECT shardflake.fence_ids(3, true)");

        assertThat(finds("problem", "db1", "ids-stopped").out())
                .contains("takes writes to shard 3 and gives no ids for it");
        isMendedBy("reconcile");
        shards.executeAsUser("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)");
    }

    @Test
    @Tag("full")
    void aMoveThatNobodyWorksOn() throws SQLException {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        mover.beginOrResume("db1", "db2", ShardSet.range(2, 3), "");

        assertThat(finds("warning", "catalog", "move-interrupted").out())
                .contains("move 1 of shards 2,3 has been preparing since %s, and its command no longer runs"
                        .formatted(mover.moves().get(0).phaseSince().truncatedTo(ChronoUnit.SECONDS)))
                .contains("continue with shardflake move start --shards 2,3 --to db2");
    }

    @Test
    @Tag("full")
    void aMoveThatWasInterruptedBeforeItsTargetHadTheLibrary() throws SQLException {
        shards.mover(MoveSettings.DEFAULT, MoveListener.NONE).beginOrResume("db1", "db2", ShardSet.of(3), "");
        shards.executeAsUser("db2", "DROP SCHEMA shardflake CASCADE");

        Cli.Result doctor = launch("doctor");

        assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out())
                .containsPattern("warning +catalog +move-interrupted ")
                .containsPattern("problem +db2 +function-library ");
    }

    @Test
    @Tag("full")
    void aSubscriptionWithoutItsSlot() throws Exception {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        String name = "shardflake_"
                + shards.mover(MoveSettings.DEFAULT, MoveListener.NONE)
                        .moves()
                        .get(0)
                        .tag() + "_forward";
        String slot = " FROM pg_replication_slots WHERE slot_name = '%s'".formatted(name);
        shards.executeAsUser("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(name));
        await().atMost(Duration.ofMinutes(1)).until(() -> shards.number("db1", "SELECT count(active_pid)" + slot) == 0);
        shards.executeAsUser("db1", "SELECT pg_drop_replication_slot(slot_name)" + slot);
        shards.executeAsUser("db2", "ALTER SUBSCRIPTION %s ENABLE".formatted(name));

        assertThat(finds("problem", "db1", "move-broken").out())
                .contains("lacks the replication slot of move 1, as after a restore or a failover");
    }

    /** A restored server has neither slots nor subscriptions, nor what came after its backup. */
    @Test
    @Tag("full")
    void aServerThatWasRestoredToBeforeTheMoveBegan() throws Exception {
        assertThat(launch("move", "start", "--shards=2-3", "--to=db2").exitCode())
                .isZero();
        String tag = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE)
                .moves()
                .get(0)
                .tag();
        shards.executeAsUser("db2", "ALTER SUBSCRIPTION shardflake_%s_forward DISABLE".formatted(tag));
        try (Connection db1 = shards.database("db1").connect()) {
            Replication.dropSlot(db1, "shardflake_" + tag + "_forward");
        }
        shards.executeAsUser("db1", "DELETE FROM shardflake.move_claim");

        assertThat(finds("problem", "db1", "move-broken").out())
                .contains("lacks the replication slot, row of shardflake.move_claim of move 1, as after a restore")
                .containsPattern(
                        "move-broken of db1: a person must decide: the copies of shards 2,3 on db2 may have rows");
    }

    @Test
    @Tag("full")
    void aSubscriptionOfTheUsersOwnIntoAShardAndIntoACopy() throws SQLException {
        shards.subscribe("db1", 3);
        assertThat(finds("warning", "db1", "inbound-subscription").out())
                .contains("subscription own_feed writes to shard_0003.tag, a shard's");

        shards.executeInCatalog("UPDATE shardflake_catalog.shard SET server = 'db2' WHERE shard = 3");

        Cli.Result doctor = launch("doctor");
        assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out())
                .containsPattern(
                        "\nproblem +db1 +inbound-subscription +subscription own_feed writes to shard_0003.tag, a copy of");
    }

    /** Each kind of reader, on the server that a shard leaves and on the one where it arrives. A slot of another database gets none of its changes. */
    @Test
    @Tag("full")
    void readersOfChangesThatAMoveWouldConfuse() throws SQLException {
        String leaves =
                "publication all_tables, publication filtered, publication in_schema, publication one_table, publication some_columns, slot feed (pgoutput, inactive), slot raw (test_decoding, inactive)";
        String arrives =
                "publication all_tables, slot target_feed (pgoutput, inactive), slot target_raw (test_decoding, inactive)";
        shards.execute(
                "db1",
                "CREATE TABLE public.other (id bigint PRIMARY KEY); CREATE PUBLICATION all_tables FOR ALL TABLES; CREATE PUBLICATION one_table FOR TABLE shard_0003.tag;"
                        + " CREATE PUBLICATION in_schema FOR TABLES IN SCHEMA shard_0003; CREATE PUBLICATION filtered FOR TABLE shard_0003.tag WHERE (false);"
                        + " CREATE PUBLICATION some_columns FOR TABLE shard_0003.tag (account_id, name); CREATE PUBLICATION unrelated FOR TABLE public.other");
        shards.execute("db2", "CREATE PUBLICATION all_tables FOR ALL TABLES");
        String otherDatabase = shards.database("db1")
                .uri()
                .replace("/" + shards.database("db1").name(), "/postgres");
        try {
            slots("db1", "feed", "raw");
            slots("db2", "target_feed", "target_raw");
            try (Connection other = ServerUrl.parse(otherDatabase).connect("a test")) {
                Sql.execute(other, "SELECT pg_create_logical_replication_slot('elsewhere', 'test_decoding')");
            }

            Cli.Result doctor = launch("doctor");
            Cli.Result preflight = launch("move", "start", "--shards=3", "--to=db2", "--dry-run");
            Cli.Result moved = launch("move", "run", "--shards=3", "--to=db2");

            assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.OK);
            assertThat(doctor.out())
                    .containsPattern(
                            "warning +db1 +change-stream +readers of " + Pattern.quote(leaves) + " do not follow")
                    .containsPattern(
                            "warning +db2 +change-stream +readers of " + Pattern.quote(arrives) + " do not follow")
                    .contains("let them read the publication of shardflake cdc create, which follows moves");
            for (String output : List.of(preflight.out() + preflight.err(), moved.out() + moved.err())) {
                assertThat(output)
                        .contains("readers of " + leaves + " get no more changes of these shards when the move is done")
                        .contains("readers of " + arrives
                                + " get each row of these shards as an insert when it is copied")
                        .contains("have the readers finish with what db1 sends", "shardflake cdc create")
                        .doesNotContain("unrelated", "elsewhere");
            }
            assertThat(preflight.exitCode()).as(preflight.toString()).isZero();
            assertThat(moved.exitCode()).as(moved.toString()).isZero();
        } finally {
            String drop =
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = ANY ('{feed,raw,elsewhere,target_feed,target_raw}') AND database = current_database()";
            shards.execute("db1", drop);
            shards.execute("db2", drop);
            try (Connection other = ServerUrl.parse(otherDatabase).connect("a test")) {
                Sql.execute(other, drop);
            }
        }
    }

    private void slots(String server, String feed, String raw) throws SQLException {
        shards.execute(
                server,
                "SELECT pg_create_logical_replication_slot('%s', 'pgoutput'), pg_create_logical_replication_slot('%s', 'test_decoding')"
                        .formatted(feed, raw));
    }

    @Test
    void sequencesOfIdsThatAreAheadOfTheClock() throws SQLException {
        shards.executeAsUser(
                "db1",
                "SELECT setval((SELECT target FROM shardflake.sequences(3) WHERE makes_ids LIMIT 1), shardflake.now_ticks() + 3600 * 1000 * 1024::bigint)");

        assertThat(finds("warning", "db1", "sequence-ahead").out())
                .containsPattern(
                        "1 sequence of ids is ahead of the clock; the furthest is shard_0003.\\S+, by (59|60) min");
    }

    @Test
    void sequencesOfIdsWithOtherSettings() throws SQLException {
        shards.executeAsUser(
                "db1",
                "DO $$ BEGIN EXECUTE format('ALTER SEQUENCE %s CACHE 10', (SELECT target FROM shardflake.sequences(3) WHERE makes_ids LIMIT 1)); END $$");

        assertThat(finds("problem", "db1", "sequence-settings").out()).contains("INCREMENT 1 CACHE 1 NO CYCLE");
    }

    @Test
    @Tag("full")
    void aServerWithoutTheFunctionLibrary() throws SQLException {
        shards.executeAsUser("db2", "DROP SCHEMA shardflake CASCADE");

        finds("problem", "db2", "function-library");
        isMendedBy("doctor", "--fix");
    }

    @Test
    @Tag("full")
    void aFunctionLibraryOfAnotherVersion() throws SQLException {
        shards.executeAsUser("db2", "UPDATE shardflake.databasechangelog SET md5sum = '9:0' WHERE id = 'next_id'");

        finds("warning", "db2", "function-library");
        isMendedBy("doctor", "--fix");
    }

    @Test
    void aFunctionLibraryThatIsNewer() throws SQLException {
        shards.executeAsUser(
                "db2",
                "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1000000");

        assertThat(finds("warning", "db2", "function-library").out())
                .contains("has version 1000000 of the function library, and this command knows version ");
        launch("doctor", "--fix");
        assertThat(shards.number("db2", "SELECT shardflake.library_version()")).isEqualTo(1_000_000);
    }

    @Test
    @Tag("full")
    void aServerWithAnotherEpoch() throws SQLException {
        shards.executeAsUser("db2", "DROP SCHEMA shardflake CASCADE");
        try (Connection db2 = shards.url("db2").connect("a test")) {
            FunctionLibrary.deploy(db2, 1_293_840_000_000L);
        }

        assertThat(finds("problem", "db2", "epoch").out())
                .contains("makes ids with epoch 1293840000000, and the shard map has 1735689600000");
        isNotMended();
    }

    @Test
    void aDatabaseThatIsTwoServersOfTheMap() {
        String url = shards.catalog().load().server("db1").url();
        shards.catalog().addServer(new Server("db9", url + "?connectTimeout=9", Map.of()), "");

        Cli.Result doctor = launch("doctor");

        assertThat(doctor.out()).containsPattern("problem +db9 +same-database +is the same database as db1");
    }

    @Test
    void aServerThatCannotBeReached() {
        String url = shards.catalog().load().server("db1").url().replaceFirst("/[^/]*$", "/nowhere");
        shards.catalog().addServer(new Server("db9", url, Map.of()), "");

        assertThat(finds("problem", "db9", "server-readable").out()).contains("database \"nowhere\" does not exist");
    }

    /** While shards go to and fro, each examination falls into another moment of a move; none is a fault. */
    @Test
    @Tag("full")
    void movesUnderWayAreNoFault() throws Exception {
        AtomicInteger examined = new AtomicInteger();
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            Future<?> moves = threads.submit(() -> {
                for (int move = 0; move < 6 || examined.get() < 6; move++) {
                    Cli.Result run = launch("move", "run", "--shards=0-7", "--to=" + (move % 2 == 0 ? "db2" : "db1"));
                    assertThat(run.exitCode()).as(run.toString()).isZero();
                }
            });
            while (!moves.isDone()) {
                Cli.Result doctor = launch("reconcile");
                assertThat(doctor.exitCode()).as(doctor.toString()).isZero();
                assertThat(doctor.out()).isEqualTo("2 servers with 8 shards are as the shard map says\n");
                examined.incrementAndGet();
            }
            moves.get();
        } finally {
            threads.shutdownNow();
        }
    }

    private void createShard(String server, int shard) throws SQLException {
        shards.executeAsUser(
                server,
                String.format(
                        Locale.ROOT,
                        "SELECT shardflake.create_shard(%1$s); CREATE TABLE shard_%1$04d.account (id bigint PRIMARY KEY); SELECT shardflake.complete_tables(%1$s)",
                        shard));
    }

    private boolean isFenced(String server, int shard) throws SQLException {
        return shards.number(server, "SELECT shardflake.is_fenced(%s)::integer".formatted(shard)) == 1;
    }
}
