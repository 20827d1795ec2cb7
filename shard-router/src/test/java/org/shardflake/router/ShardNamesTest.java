/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.internal.session.KnownNames;
import org.shardflake.router.internal.session.SearchPathConnection;
import org.shardflake.router.internal.sqltext.ShardNames;
import org.shardflake.sql.FunctionLibrary;

/** What the router finds out about a shard before it qualifies names, and that both ways lead to the same tables. */
class ShardNamesTest {

    private static final String FUNCTION =
            "CREATE FUNCTION shard_0001.f() RETURNS bigint LANGUAGE plpgsql %s AS 'BEGIN RETURN count(*) FROM photo; END';";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 1, 4);
    }

    /** The names of shard 1 after a change, which is taken back. */
    private static ShardNames after(String change) throws SQLException {
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute(change);
            ShardNames names = ShardNames.ask(connection, "shard_0001");
            connection.rollback();
            return names;
        }
    }

    @Test
    void knowsTheTablesOfAShard() throws SQLException {
        ShardNames names = after("SELECT");

        assertThat(names.tables()).contains("photo", "photo_id_seq");
        assertThat(names.others()).contains("next_id");
        assertThat(names.isPlain()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ALTER TABLE shard_0001.photo ALTER title SET DEFAULT shard_0001.f()::text",
                "ALTER TABLE shard_0001.photo ADD CHECK (shard_0001.f() >= 0) NOT VALID",
                "CREATE VIEW shard_0001.v AS SELECT shard_0001.f()",
                "CREATE DOMAIN shard_0001.d AS bigint CHECK (shard_0001.f() >= 0)",
                "CREATE POLICY p ON shard_0001.photo USING (shard_0001.f() = 1)"
            })
    void seesWhatLooksAtTheSearchPath(String change) throws SQLException {
        assertThat(after(FUNCTION.formatted("") + change).isPlain()).isFalse();
        assertThat(after(FUNCTION.formatted("SET search_path = shard_0001") + change)
                        .isPlain())
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE FUNCTION public.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER t AFTER INSERT ON shard_0001.photo FOR EACH ROW EXECUTE FUNCTION public.t()",
                "CREATE OPERATOR shard_0001.+ (LEFTARG = text, RIGHTARG = text, FUNCTION = textcat)",
                "CREATE COLLATION shard_0001.c (provider = libc, locale = 'C')",
                "ALTER TABLE shard_0001.photo ADD kind regclass"
            })
    void seesWhatTheSearchPathGivesAMeaningTo(String change) throws SQLException {
        assertThat(after(change).isPlain()).isFalse();
    }

    @Test
    void aTriggerThatLooksAtTheSearchPathFindsItsTables() throws SQLException {
        shards.execute(0, """
                CREATE TABLE shard_0002.log (id bigint);
                CREATE FUNCTION shard_0002.log() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (NEW.id); RETURN NULL; END';
                CREATE TRIGGER log AFTER INSERT ON shard_0002.photo FOR EACH ROW EXECUTE FUNCTION shard_0002.log()
                """);
        try (ShardRouter router = shards.router().map(shards.map()).build()) {
            insert(router, 2);
            insert(router, 3);
        }
        assertThat(shards.number(0, "SELECT count(*) FROM shard_0002.log")).isEqualTo(1);
        assertThat(shards.number(0, "SELECT count(*) FROM shard_0003.photo")).isEqualTo(1);
    }

    @Test
    void aTableThatIsNewIsFound() throws SQLException {
        try (ShardRouter router = shards.router().map(shards.map()).build()) {
            insert(router, 0);
            shards.execute(0, "CREATE TABLE shard_0000.album (n int); INSERT INTO shard_0000.album VALUES (8)");
            assertThat(number(router, 0, "SELECT n FROM album")).isEqualTo(8);
        }
    }

    @Test
    void aBatchAndGeneratedKeysNeedNoSearchPath() throws SQLException {
        try (ShardRouter router = shards.router().map(shards.map()).build()) {
            router.run(ShardKey.shard(1), tx -> {
                SearchPathConnection connection = new SearchPathConnection(tx.connection(), tx.lent());
                try (PreparedStatement batch =
                        connection.prepareStatement("INSERT INTO photo (uid) VALUES (?)", new String[] {"id"})) {
                    batch.setLong(1, 1);
                    batch.addBatch();
                    batch.setLong(1, 5);
                    batch.addBatch();
                    assertThat(batch.executeBatch()).containsExactly(1, 1);
                    assertThat(batch.getGeneratedKeys().next()).isTrue();
                }
                assertThat(connection.isPathSet()).isFalse();
            });
        }
    }

    @Test
    void aCommentAtTheEndDoesNotKeepTheSearchPath() throws SQLException {
        try (ShardRouter router = shards.router().map(shards.map()).build()) {
            router.run(ShardKey.shard(1), tx -> {
                SearchPathConnection connection = new SearchPathConnection(tx.connection(), tx.lent());
                String before = searchPath(tx.connection());
                try (PreparedStatement statement =
                                connection.prepareStatement("SELECT to_regclass('photo')::text -- found by the path");
                        ResultSet row = statement.executeQuery()) {
                    row.next();
                    assertThat(row.getString(1)).isEqualTo("photo");
                }
                assertThat(connection.isPathSet()).isFalse();
                assertThat(searchPath(tx.connection())).isEqualTo(before);
            });
        }
    }

    private static String searchPath(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW search_path")) {
            row.next();
            return row.getString(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE TEMP TABLE photo (LIKE photo) ON COMMIT DROP",
                "SET LOCAL search_path = elsewhere",
                "set local /* quoted */ \"Search_Path\" to elsewhere",
                "SET LOCAL SCHEMA 'elsewhere'",
                "SELECT set_config('search_path', 'elsewhere', true)"
            })
    void whatTheUserHasGivenAnotherMeaningKeepsIt(String change) throws SQLException {
        shards.execute(
                0,
                "DROP SCHEMA IF EXISTS elsewhere CASCADE; CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.photo (id int, uid int)");
        try (ShardRouter router = shards.router().map(shards.map()).build()) {
            for (boolean isPrepared : new boolean[] {true, false}) {
                router.<Object, SQLException>attempt(ShardKey.uid(1), true, attempt -> {
                    try (Connection connection = attempt.connection()) {
                        connection.setAutoCommit(false);
                        execute(connection, "UPDATE photo SET uid = uid", true);
                        execute(connection, change, isPrepared);
                        execute(connection, "INSERT INTO photo (id, uid) VALUES (7, 1)", true);
                        try (Statement statement = connection.createStatement();
                                ResultSet row =
                                        statement.executeQuery("SELECT count(*) FROM shard_0001.photo WHERE id = 7")) {
                            row.next();
                            assertThat(row.getLong(1)).isZero();
                        }
                        connection.rollback();
                        return true;
                    }
                });
            }
        }
    }

    private static void execute(Connection connection, String sql, boolean isPrepared) throws SQLException {
        if (isPrepared) {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.execute();
            }
        } else {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }
    }

    private static void insert(ShardRouter router, long uid) throws SQLException {
        assertThat(number(router, uid, "INSERT INTO photo (uid) VALUES (" + uid + ") RETURNING uid"))
                .isEqualTo(uid);
    }

    private static long number(ShardRouter router, long uid, String sql) throws SQLException {
        return router.<Long, SQLException>attempt(ShardKey.uid(uid), true, attempt -> {
            try (Connection connection = attempt.connection();
                    PreparedStatement statement = connection.prepareStatement(sql);
                    ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        });
    }

    @Test
    void areAskedForAgainOnlyIfSomethingIsChanged() throws Exception {
        AtomicLong time = new AtomicLong();
        KnownNames known = new KnownNames(time::get);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SELECT pg_stat_force_next_flush()");
            ShardNames before = known.of(1, connection, false);
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            assertThat(known.of(1, connection, false)).isSameAs(before);

            statement.execute("CREATE TABLE shard_0001.fresh (id bigint)");
            statement.execute("SELECT pg_stat_force_next_flush()");
            assertThat(known.of(1, connection, false)).isSameAs(before);
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            assertThat(known.of(1, connection, false).tables()).contains("fresh");

            statement.execute("DROP TABLE shard_0001.fresh");
            statement.execute("SELECT pg_stat_force_next_flush()");
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            assertThat(known.of(1, connection, true))
                    .as("in a failed transaction")
                    .isSameAs(ShardNames.UNKNOWN);
            assertThat(known.of(1, connection, false).tables()).doesNotContain("fresh");
        }
    }

    @Test
    void areAskedForOnceAMinuteWherePostgreSqlDoesNotCount() throws Exception {
        AtomicLong time = new AtomicLong();
        KnownNames known = new KnownNames(time::get);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET track_counts = off");
            ShardNames before = known.of(1, connection, false);
            time.addAndGet(TimeUnit.SECONDS.toNanos(59));
            assertThat(known.of(1, connection, false)).isSameAs(before);
            time.addAndGet(TimeUnit.SECONDS.toNanos(2));
            assertThat(known.of(1, connection, false)).isNotSameAs(before).isEqualTo(before);
        }
    }

    /** As after a crash, or on a standby that was promoted: the counters may be where they were once. */
    @Test
    void areAskedForAgainWhenTheCountersHaveBegunAnew() throws Exception {
        AtomicLong time = new AtomicLong();
        KnownNames known = new KnownNames(time::get);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SELECT pg_stat_reset()");
            ShardNames before = known.of(1, connection, false);
            statement.execute("SELECT pg_stat_reset()");
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            assertThat(known.of(1, connection, false)).isNotSameAs(before).isEqualTo(before);
        }
    }
}
