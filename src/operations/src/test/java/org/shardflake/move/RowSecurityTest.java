/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.grants.Grant;
import org.shardflake.grants.Grants;
import org.shardflake.jdbc.Sql;
import org.shardflake.lookup.BackfillSettings;
import org.shardflake.lookup.LookupPlan;
import org.shardflake.lookup.LookupTables;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.Preflight;
import org.shardflake.preflight.PreflightCheck;

/** A move by a role from which row-level security hides rows, though not from their owner. */
class RowSecurityTest {

    private static final String PASSWORD = "hidden";
    private static final ShardSet SHARD = ShardSet.of(1);

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:note
            CREATE TABLE note (id bigint PRIMARY KEY, uid bigint NOT NULL, text text);
            ALTER TABLE note ENABLE ROW LEVEL SECURITY;
            ALTER TABLE note FORCE ROW LEVEL SECURITY;
            CREATE POLICY own ON note USING (uid = 0);
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;
    private AccountShards mover;

    @BeforeEach
    void deploy() throws Exception {
        assumeTrue(postgres.database(0).server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        shards = AccountShards.bare(postgres);
        dropRoles();
        everywhere(ManagedRole.createByPassword());
        everywhere(
                "CREATE ROLE hidden_owner BYPASSRLS LOGIN PASSWORD '%1$s'; CREATE ROLE hidden_mover LOGIN PASSWORD '%1$s'"
                        .formatted(PASSWORD));
        everywhere(
                "GRANT logs_in_by_password TO hidden_mover; DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO hidden_owner', current_database()); END $$");
        shards.as("hidden_owner", PASSWORD)
                .deploy(2, directory, Files.writeString(directory.resolve("notes.sql"), CHANGELOG));
        shards.execute(
                "db1",
                "INSERT INTO shard_0001.note (uid, text) SELECT n * 2 + 1, 'kept' FROM generate_series(1, 100) n");
        mover = shards.as("hidden_mover", PASSWORD);
    }

    @AfterEach
    void dropRoles() throws SQLException {
        postgres.restore("bare");
        everywhere("DROP ROLE IF EXISTS hidden_owner, hidden_mover");
    }

    private void everywhere(String sql) throws SQLException {
        for (int i = 0; i < 3; i++) {
            try (Connection connection = postgres.database(i).connect()) {
                Sql.execute(connection, sql);
            }
        }
    }

    /** Runs what is printed for moves, but for these statements; returns what was left out. */
    private Set<String> grantAllBut(String withheld) throws SQLException {
        Set<String> left = new TreeSet<>();
        for (String server : List.of("db1", "db2")) {
            try (Connection from = shards.database("db1").connect();
                    Connection to = shards.database(server).connect()) {
                grant(to, Grants.list(to, Grants.Work.MOVES, "hidden_mover", Grants.Owners.of(from)), withheld, left);
            }
        }
        try (Connection catalog = shards.catalogDatabase().connect()) {
            grant(catalog, Grants.inCatalog(catalog, Grants.Work.MOVES, "hidden_mover"), withheld, left);
        }
        return left;
    }

    private static void grant(Connection to, List<Grant> grants, String withheld, Set<String> left)
            throws SQLException {
        for (Grant grant : grants) {
            String statement = grant.statement().orElseThrow();
            if (statement.contains(withheld)) {
                left.add(statement);
            } else if (!grant.present()) {
                Sql.execute(to, statement);
            }
        }
    }

    private List<PreflightCheck> failed() {
        return Preflight.run(new MoveServer("db1", mover.url("db1")), new MoveServer("db2", mover.url("db2")), SHARD)
                .checks()
                .stream()
                .filter(check -> check.outcome() == PreflightCheck.Outcome.FAILED)
                .toList();
    }

    private long rows(String server) throws SQLException {
        return shards.number(server, "SELECT count(*) FROM shard_0001.note");
    }

    /** The role is the owner's member, and its error on the target has suggested BYPASSRLS there. */
    @Test
    void aRoleThatSeesNoRowIsRefusedBeforeAnyIsTouched() throws Exception {
        assertThat(grantAllBut("BYPASSRLS")).containsExactly("ALTER ROLE hidden_mover BYPASSRLS");

        assertThat(failed())
                .allSatisfy(check -> assertThat(check.name()).startsWith("privileges-"))
                .hasSize(2)
                .allSatisfy(check -> assertThat(check.remedy()).hasToString("ALTER ROLE hidden_mover BYPASSRLS"));
        shards.execute("db2", "ALTER ROLE hidden_mover BYPASSRLS");
        assertThat(failed())
                .extracting(PreflightCheck::name)
                .as("its own words on the other server do not help")
                .containsExactly("privileges-db1");
        Mover moves = mover.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        long move = moves.record("db1", "db2", SHARD, "a test").id();
        assertThatThrownBy(() -> moves.follow(move))
                .hasMessageContaining("row-level security policy for table \"note\"")
                .hasMessageContaining("db1")
                .hasMessageContaining("BYPASSRLS");
        assertThat(rows("db1")).isEqualTo(100);
        assertThat(shards.number("db1", "SELECT count(*) FROM shardflake.fences(1) WHERE fenced"))
                .isZero();
        moves.cancel(move, Mover.End.BACK);

        grantAllBut("nothing");
        assertThat(failed()).isEmpty();
        long again = moves.record("db1", "db2", SHARD, "a test").id();
        moves.follow(again);
        moves.cutOver(again, SHARD);
        moves.complete(again);
        assertThat(rows("db2")).isEqualTo(100);
    }

    /** Nobody's rows are missing from a lookup that says it is ready. */
    @Test
    void aLookupIsNotFilledFromWhatIsLeftVisible() throws Exception {
        grantAllBut("BYPASSRLS");
        LookupPlan plan = new LookupPlan(
                "note.text",
                false,
                false,
                false,
                Optional.of(new LookupDefinition.Source("note", "text", "uid", "id")));
        lookups(shards.as("hidden_owner", PASSWORD)).create(plan);

        String hidden = "db1: query would be affected by row-level security policy for table \"note\"";
        assertThatThrownBy(() -> lookups(mover).backfill("note.text", BackfillSettings.DEFAULT, done -> {}))
                .hasMessageContaining(hidden);
        assertThat(shards.catalog().lookups().get(0).state()).isEqualTo(LookupDefinition.State.FILLING);
        lookups(shards.as("hidden_owner", PASSWORD)).backfill("note.text", BackfillSettings.DEFAULT, done -> {});
        assertThatThrownBy(() -> lookups(mover).verify("note.text", 1)).hasMessageContaining(hidden);
    }

    private static LookupTables lookups(AccountShards as) {
        return new LookupTables(as.catalogUrl(), server -> as.url(server.name()));
    }
}
