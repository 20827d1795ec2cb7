/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.jdbc.PgConnection;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.doctor.Doctor;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.router.Lookup;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.LookupTakenException;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.server.ServerUrl;

/** What the router does with lookups when nothing is killed. Each test has values of its own. */
class LookupTest {

    private static final String CLAIMS = "SELECT state FROM ${shard.schema}.shardflake_lookup WHERE value = '%s'";

    private static final String RECORDS =
            "SELECT value FROM ${shard.schema}.shardflake_lookup_owner WHERE value = '%s' AND NOT is_void";

    private static final String WAITING =
            "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

    private static final String ASKS_FOR_WRITERS =
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%pg_locks%')";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    static Path directory;

    private static LookupFixture fixture;
    private static ShardRouter router;
    private static Lookup names;

    @BeforeAll
    static void create() throws Exception {
        fixture = new LookupFixture(postgres, directory);
        fixture.create();
        fixture.lookups().create(LookupFixture.free("name"));
        fixture.lookups().create(LookupFixture.plan("email", true));
        fixture.lookups().create(new LookupPlan("tag", false, true, false, Optional.empty()));
        fixture.lookups().create(new LookupPlan("secret", true, true, true, Optional.empty()));
        router = fixture.router().build();
        names = router.lookup("name");
    }

    @AfterAll
    static void close() {
        router.close();
    }

    private static void claim(Lookup lookup, String value, long uid, long id) {
        router.run(uid, tx -> lookup.claim(value, uid, id));
    }

    private static List<String> claims(String value) throws SQLException {
        return fixture.all(CLAIMS.formatted(value));
    }

    @Test
    void findsWhatWasCommitted() throws SQLException {
        long id = router.<Long, SQLException>write(7, tx -> {
            long its = LookupFixture.insert(tx.connection(), tx.schema(), 7, "a@b.c");
            names.claim("ann", 7, its);
            assertThat(names.find("ann")).isEmpty();
            return its;
        });
        assertThat(claims("ann")).containsExactly("new");
        assertThat(names.find("ann")).contains(new LookupEntry(7, id));
        assertThat(claims("ann")).containsExactly("held");
        assertThat(names.find("ann")).contains(new LookupEntry(7, id));
        assertThat(names.find("nobody")).isEmpty();
    }

    @Test
    void oneRowHoldsAValue() {
        claim(names, "bob", 1, 10);
        claim(names, "bob", 1, 10);
        assertThatThrownBy(() -> claim(names, "bob", 2, 20))
                .isInstanceOf(LookupTakenException.class)
                .hasMessage("\"bob\" of lookup name is held by row 10 of uid 1");
        assertThat(names.find("bob")).contains(new LookupEntry(1, 10));
        assertThatThrownBy(() -> claim(names, "bob", 2, 20)).isInstanceOf(LookupTakenException.class);
    }

    @Test
    void whatIsRolledBackLeavesNothing() throws SQLException {
        Throwable thrown = catchThrowable(() -> router.run(1, tx -> {
            names.claim("carl", 1, 11);
            throw new IllegalArgumentException("no");
        }));
        assertThat(thrown).hasMessage("no");
        assertThat(claims("carl")).isEmpty();
        claim(names, "carl", 2, 21);
        assertThat(names.find("carl")).contains(new LookupEntry(2, 21));
    }

    @Test
    void changesAndReleases() throws SQLException {
        claim(names, "dora", 1, 12);
        assertThat(names.find("dora")).isPresent();
        router.run(1, tx -> names.change("dora", "dorothy", 1, 12));
        assertThat(names.find("dora")).isEmpty();
        assertThat(claims("dora")).isEmpty();
        assertThat(names.find("dorothy")).contains(new LookupEntry(1, 12));
        assertThat(catchThrowable(() -> router.run(1, tx -> {
                    names.change("dorothy", "dora", 1, 12);
                    throw new IllegalArgumentException("no");
                })))
                .hasMessage("no");
        assertThat(names.find("dorothy")).contains(new LookupEntry(1, 12));
        assertThat(names.find("dora")).isEmpty();
        assertThat(router.<Boolean, RuntimeException>write(2, tx -> names.release("dorothy", 2, 12)))
                .isFalse();
        assertThat(router.<Boolean, RuntimeException>write(1, tx -> names.release("dorothy", 1, 12)))
                .isTrue();
        assertThat(claims("dorothy")).isEmpty();
        claim(names, "dorothy", 2, 22);
        assertThat(names.find("dorothy")).contains(new LookupEntry(2, 22));
    }

    @Test
    void aTransactionSeesItsOwnChanges() throws SQLException {
        router.run(3, tx -> {
            names.claim("emil", 3, 13);
            names.claim("emil", 3, 13);
            assertThatThrownBy(() -> names.claim("emil", 3, 14)).isInstanceOf(LookupTakenException.class);
            assertThat(names.release("emil", 3, 13)).isTrue();
            assertThat(names.release("emil", 3, 13)).isFalse();
            assertThatThrownBy(() -> names.claim("emil", 3, 14)).isInstanceOf(IllegalStateException.class);
            names.claim("emil", 3, 13);
        });
        assertThat(names.find("emil")).contains(new LookupEntry(3, 13));
        router.run(3, tx -> {
            names.change("emil", "emilia", 3, 13);
            names.change("emilia", "emil", 3, 13);
        });
        assertThat(names.find("emil")).contains(new LookupEntry(3, 13));
        assertThat(claims("emilia")).isEmpty();
        router.run(3, tx -> {
            names.claim("emilia", 3, 13);
            names.release("emilia", 3, 13);
        });
        assertThat(claims("emilia")).isEmpty();
        assertThat(fixture.all("SELECT value FROM ${shard.schema}.shardflake_lookup_owner WHERE value = 'emilia'"))
                .isEmpty();
    }

    @Test
    void claimsBelongToATransactionOfAFramework() throws SQLException {
        router.<Boolean, SQLException>attempt(ShardKey.uid(5), true, attempt -> {
            try (Connection connection = attempt.connection()) {
                assertThatThrownBy(() -> names.claim("hugo", 5, 19)).hasMessageContaining("outside of one");
                connection.setAutoCommit(false);
                names.claim("hugo", 5, 19);
                connection.rollback();
                assertThat(claims("hugo")).isEmpty();
                names.claim("hugo", 5, 20);
                assertThat(names.find("hugo")).isEmpty();
                connection.commit();
                connection.setAutoCommit(true);
            }
            return true;
        });
        assertThat(names.find("hugo")).contains(new LookupEntry(5, 20));
    }

    @Test
    void aSavepointGivesNoValueToTwoRows() throws SQLException {
        claim(names, "ina", 1, 30);
        router.<SQLException>run(1, tx -> {
            Savepoint before = tx.connection().setSavepoint();
            names.change("ina", "inga", 1, 30);
            tx.connection().rollback(before);
        });
        assertThatThrownBy(() -> claim(names, "ina", 2, 31)).isInstanceOf(LookupTakenException.class);
        assertThat(names.find("inga")).isEmpty();
        router.<SQLException>run(1, tx -> {
            Savepoint before = tx.connection().setSavepoint();
            names.claim("inga", 1, 30);
            names.claim("ines", 1, 30);
            tx.connection().rollback(before);
            names.claim("inga", 1, 30);
            names.claim("ines", 1, 32);
        });
        assertThat(names.find("ines")).contains(new LookupEntry(1, 32));
        assertThatThrownBy(() -> claim(names, "inga", 2, 31)).isInstanceOf(LookupTakenException.class);
        router.<SQLException>run(1, tx -> {
            Savepoint before = tx.connection().setSavepoint();
            assertThat(names.release("inga", 1, 30)).isTrue();
            tx.connection().rollback(before);
            assertThatThrownBy(() -> names.claim("inga", 1, 31)).isInstanceOf(LookupTakenException.class);
            assertThat(names.release("inga", 1, 30)).isTrue();
            Savepoint released = tx.connection().setSavepoint();
            names.claim("inga", 1, 30);
            tx.connection().rollback(released);
            names.claim("inga", 1, 30);
        });
        assertThatThrownBy(() -> claim(names, "inga", 2, 31)).isInstanceOf(LookupTakenException.class);
    }

    /** As a client that dies after its claim leaves it. */
    @Test
    void aClaimWithoutARowIsNotFoundAndTheNextTakesIt() throws SQLException {
        claim(names, "frank", 1, 15);
        fixture.all("DELETE FROM ${shard.schema}.shardflake_lookup_owner WHERE value = 'frank' RETURNING value");
        assertThat(names.find("frank")).isEmpty();
        claim(names, "frank", 2, 25);
        assertThat(names.find("frank")).contains(new LookupEntry(2, 25));
        assertThat(fixture.all("SELECT token::text FROM ${shard.schema}.shardflake_lookup_owner WHERE is_void"))
                .isNotEmpty();
    }

    /** As a restore to different moments leaves it. */
    @Test
    void aRowThatLostItsRecordClaimsAnew() throws SQLException {
        claim(names, "fritz", 1, 35);
        assertThat(names.find("fritz")).isPresent();
        String records = "FROM ${shard.schema}.shardflake_lookup_owner WHERE value = 'fritz'";
        fixture.all("DELETE " + records + " RETURNING value");
        claim(names, "fritz", 1, 35);
        assertThat(fixture.all("SELECT value " + records)).hasSize(1);
        assertThat(names.find("fritz")).contains(new LookupEntry(1, 35));

        fixture.all("DELETE " + records + " RETURNING value");
        router.run(1, tx -> names.release("fritz", 1, 35));
        claim(names, "fritz", 2, 36);
        assertThat(names.find("fritz")).contains(new LookupEntry(2, 36));
    }

    /** Each statement is one round trip, as is the commit. */
    @Test
    void aClaimCostsTwoRoundTripsAndASearchOne() throws SQLException {
        try (ShardRouter counted = fixture.router()
                .customizePools((server, config) -> config.setDataSource(
                        new MortalDataSource(ServerUrl.parse(server.url()).dataSource())))
                .build()) {
            Lookup its = counted.lookup("name");
            for (int i = 0; i < LookupFixture.SHARDS; i++) { // Pools are made, and servers asked what they are.
                its.find("warm up " + i);
                claim(counted, its, "warm up " + i, 100 + i);
            }
            MortalDataSource.statements();
            LookupFixture.insert(counted, 8, null);
            assertThat(MortalDataSource.statements()).isEqualTo(1);
            claim(counted, its, "counted", 8);
            assertThat(MortalDataSource.statements()).isEqualTo(1 + 2);
            assertThat(its.find("counted")).isPresent();
            assertThat(MortalDataSource.statements()).as("who looks first").isEqualTo(3);
            assertThat(its.find("counted")).isPresent();
            assertThat(MortalDataSource.statements()).isEqualTo(1);
            assertThat(its.find("not there")).isEmpty();
            assertThat(MortalDataSource.statements()).isEqualTo(1);
        }
    }

    private static void claim(ShardRouter by, Lookup lookup, String value, long uid) throws SQLException {
        by.run(uid, tx -> lookup.claim(value, uid, LookupFixture.insert(tx.connection(), tx.schema(), uid, null)));
    }

    @Test
    void manyRowsCanHoldAValueThatIsNotUnique() {
        Lookup tags = router.lookup("tag");
        claim(tags, "Red", 1, 16);
        claim(tags, "red", 2, 26);
        claim(tags, "RED", 3, 36);
        assertThat(tags.findAll("rEd"))
                .containsExactly(new LookupEntry(1, 16), new LookupEntry(2, 26), new LookupEntry(3, 36));
        router.run(2, tx -> assertThat(tags.release("red", 2, 26)).isTrue());
        assertThat(tags.findAll("red")).containsExactly(new LookupEntry(1, 16), new LookupEntry(3, 36));
        assertThatThrownBy(() -> tags.find("red"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("use findAll");
    }

    @Test
    void hashedValuesAreNotKept() throws SQLException {
        Lookup secrets = router.lookup("secret");
        claim(secrets, "Ann@Example.org", 4, 17);
        assertThat(secrets.find("ann@example.ORG")).contains(new LookupEntry(4, 17));
        assertThat(fixture.all(
                        "SELECT value FROM ${shard.schema}.shardflake_lookup WHERE value = encode(sha256('ann@example.org'), 'hex') AND '${shard.schema}' = 'shard_' || lpad((((shardflake.key_hash('ann@example.org') %% 6) + 6) %% 6)::text, 4, '0')"
                                .replace("%%", "%")))
                .hasSize(1);
        assertThatThrownBy(() -> claim(secrets, "ann@example.org", 5, 18))
                .hasMessage("a hashed value of lookup secret is held by row 17 of uid 4");
        assertThat(secrets.find("x".repeat(5000))).isEmpty();
    }

    @Test
    void refusesWhatCannotBe() throws Exception {
        fixture.lookups().create(LookupFixture.plan("uid", false));
        assertThatThrownBy(() -> router.lookup("nmae"))
                .isInstanceOf(ShardflakeException.class)
                .hasMessage("there is no lookup nmae");
        assertThatThrownBy(() -> names.claim("gina", 1, 19))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("outside of one");
        assertThatThrownBy(() -> router.<Boolean, RuntimeException>read(1, tx -> names.release("gina", 1, 19)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("a read");
        assertThatThrownBy(() -> router.run(1, tx -> names.claim("gina", 2, 19)))
                .isInstanceOf(CrossShardException.class);
        for (String value : List.of("", "x".repeat(1001), "a\0b", "\uD800")) {
            assertThatThrownBy(() -> claim(names, value, 1, 19)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> names.find(value)).isInstanceOf(IllegalArgumentException.class);
        }
        // A router asks the catalog again half a second after it has asked.
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThatThrownBy(
                                () -> router.lookup("account.uid").findAll("1"))
                        .isInstanceOf(ShardflakeException.class)
                        .hasMessage("lookup account.uid is filling, so rows may be missing in it"));
        try (ShardRouter without = ShardRouter.builder().map(router.map()).build()) {
            assertThatThrownBy(() -> without.lookup("name")).hasMessageContaining("a map that never changes");
        }
    }

    @Test
    @Tag("full")
    void rowsFromBeforeAreFoundAfterABackfill() throws Exception {
        LookupTables lookups = fixture.lookups();
        for (int i = 0; i < 30; i++) {
            String tag = i < 28 ? "tag " + i : i == 28 ? "tag 3" : "x".repeat(1500);
            fixture.all(
                    "INSERT INTO ${shard.schema}.account (uid, tag) SELECT %1$s, '%2$s' WHERE '${shard.schema}' = 'shard_000%3$s' RETURNING ''"
                            .formatted(i, tag, i % LookupFixture.SHARDS));
        }
        fixture.all(
                "INSERT INTO ${shard.schema}.account (uid, tag) SELECT uid, concat('astray ', uid) FROM (VALUES (1), (NULL)) a (uid) WHERE '${shard.schema}' = 'shard_0000' RETURNING ''");
        lookups.create(LookupFixture.plan("tag", true));
        // A router that was asked for another that there is not asks the catalog again half a second later.
        Lookup tags = await().atMost(Duration.ofMinutes(1))
                .ignoreExceptions()
                .until(() -> router.lookup("account.tag"), lookup -> true);
        BackfillReport refused = lookups.backfill("account.tag", new BackfillSettings(2, 0), rows -> {});
        assertThat(refused.claimed()).isEqualTo(28);
        assertThat(refused.refused()).isEqualTo(4);
        assertThat(refused.reasons())
                .anyMatch(reason -> reason.contains("\"tag 3\" of lookup account.tag is held by row"));
        assertThat(refused.reasons()).anyMatch(reason -> reason.contains("has 1,500 bytes"));
        assertThat(refused.reasons())
                .anyMatch(reason -> reason.contains("is in shard 1, but this transaction is of shard 0"))
                .anyMatch(reason -> reason.endsWith("cannot be found: it has no uid"));
        assertThat(lookups.verify("account.tag", 2).differing()).isEqualTo(4);
        try (ShardRouter early = fixture.router().build()) { // A router does not ask again within half a second.
            assertThatThrownBy(() -> early.lookup("account.tag").find("tag 1")).hasMessageContaining("is filling");
        }

        fixture.all(
                "DELETE FROM ${shard.schema}.account WHERE length(tag) > 1000 OR tag = 'tag 3' OR tag LIKE 'astray%' RETURNING ''");
        assertThat(lookups.verify("account.tag", 2).differences())
                .singleElement()
                .asString()
                .contains("value tag 3")
                .contains("by a row that has no value");
        assertThat(lookups.backfill("account.tag", BackfillSettings.DEFAULT, rows -> {}))
                .isEqualTo(new BackfillReport(27, 0, List.of()));
        // This router, too, asks for the state again half a second later.
        Optional<LookupEntry> first =
                await().atMost(Duration.ofMinutes(1)).ignoreExceptions().until(() -> tags.find("tag 1"), found -> true);
        assertThat(first).map(LookupEntry::uid).contains(1L);
        long id = first.orElseThrow().id();
        claim(tags, "another", 1, id);
        assertThat(lookups.verify("account.tag", 2).differences())
                .filteredOn(difference -> !difference.contains("value tag 3"))
                .singleElement()
                .asString()
                .contains("value another, of row " + id)
                .contains("where the row has tag 1");
        assertThat(lookups.list())
                .filteredOn(status -> status.lookup().name().equals("account.tag"))
                .singleElement()
                .satisfies(status -> assertThat(status.filledShards()).isEqualTo(LookupFixture.SHARDS));

        lookups.drop("account.tag", Duration.ZERO);
        assertThat(fixture.all("SELECT value FROM ${shard.schema}.shardflake_lookup WHERE value LIKE 'tag %'"))
                .isEmpty();
        assertThatThrownBy(() -> lookups.verify("account.tag", 1)).hasMessage("there is no lookup account.tag");
    }

    @Test
    void aBackfillLeavesAloneWhatTheApplicationChanges() throws Exception {
        LookupTables lookups = fixture.lookups();
        ExecutorService application = Executors.newSingleThreadExecutor();
        try {
            List<Long> ids = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                ids.add(LookupFixture.insert(router, i, "before " + i));
            }
            Lookup emails = router.lookup("account.email");
            Future<?> changes = application.submit(() -> {
                for (int i = 59; i >= 0; i -= 2) {
                    int uid = i;
                    router.<SQLException>run(uid, tx -> {
                        emails.change("before " + uid, "after " + uid, uid, ids.get(uid));
                        Sql.update(
                                tx.connection(),
                                tx.sql("UPDATE ${shard.schema}.account SET email = ? WHERE id = ?"),
                                "after " + uid,
                                ids.get(uid));
                    });
                }
                return true;
            });
            // Rows of other tests have not claimed theirs.
            lookups.backfill("account.email", new BackfillSettings(1, 300), rows -> {});
            changes.get(60, TimeUnit.SECONDS);
            assertThat(lookups.verify("account.email", 1).differences()).isEmpty();
            assertThat(emails.find("after 59")).contains(new LookupEntry(59, ids.get(59)));
            assertThat(emails.find("before 59")).isEmpty();
            assertThat(emails.find("before 58")).contains(new LookupEntry(58, ids.get(58)));
        } finally {
            application.shutdownNow();
        }
    }

    /** The claim is there and its record is not committed yet, as in a backfill that holds the row. */
    @Test
    void aValueThatIsBeingClaimedForTheRowIsReleased() throws Exception {
        long id = LookupFixture.insert(router, 4, "claimed meanwhile");
        Lookup emails = router.lookup("account.email");
        CountDownLatch isClaimed = new CountDownLatch(1);
        CountDownLatch mayCommit = new CountDownLatch(1);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            Future<?> claiming = threads.submit(() -> {
                router.<Exception>run(4, tx -> {
                    Sql.text(
                            tx.connection(),
                            tx.sql("SELECT id FROM ${shard.schema}.account WHERE id = ? FOR UPDATE"),
                            id);
                    emails.claim("claimed meanwhile", 4, id);
                    isClaimed.countDown();
                    assertThat(mayCommit.await(60, TimeUnit.SECONDS)).isTrue();
                });
                return true;
            });
            assertThat(isClaimed.await(60, TimeUnit.SECONDS)).isTrue();
            Future<?> changing = threads.submit(() -> {
                router.<SQLException>run(4, tx -> {
                    emails.change("claimed meanwhile", "changed since", 4, id);
                    Sql.update(
                            tx.connection(),
                            tx.sql("UPDATE ${shard.schema}.account SET email = 'changed since' WHERE id = ?"),
                            id);
                });
                return true;
            });
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> fixture.all(WAITING).contains("true"));
            mayCommit.countDown();
            claiming.get(60, TimeUnit.SECONDS);
            changing.get(60, TimeUnit.SECONDS);
        } finally {
            mayCommit.countDown();
            threads.shutdownNow();
        }
        assertThat(fixture.all(RECORDS.formatted("claimed meanwhile"))).isEmpty();
        assertThat(fixture.all(RECORDS.formatted("changed since"))).hasSize(1);
    }

    @Test
    void aValueThatTheRowHoldsAlreadyIsHeldUntilTheCommit() throws Exception {
        claim(names, "judy", 1, 40);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            Future<?> releasing = router.<Future<?>, Exception>write(1, tx -> {
                names.change("judy", "judy", 1, 40);
                Future<?> its = other.submit(() -> router.run(1, inner -> names.release("judy", 1, 40)));
                await().atMost(Duration.ofMinutes(1))
                        .until(() -> fixture.all(WAITING).contains("true") || its.isDone());
                assertThat(its.isDone()).isFalse();
                return its;
            });
            releasing.get(60, TimeUnit.SECONDS);
        } finally {
            other.shutdownNow();
        }
        claim(names, "judy", 2, 41);
        assertThat(names.find("judy")).contains(new LookupEntry(2, 41));
    }

    @Test
    void aSavepointBringsNoValueBackThatAnotherHasReleased() throws Exception {
        claim(names, "karl", 1, 42);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            router.<Exception>run(1, tx -> {
                Savepoint before = tx.connection().setSavepoint();
                assertThat(names.release("karl", 1, 42)).isTrue();
                tx.connection().rollback(before);
                other.submit(() -> {
                            router.run(1, inner -> names.release("karl", 1, 42));
                            claim(names, "karl", 2, 43);
                        })
                        .get(60, TimeUnit.SECONDS);
                assertThatThrownBy(() -> names.claim("karl", 1, 42)).isInstanceOf(LookupTakenException.class);
            });
        } finally {
            other.shutdownNow();
        }
        assertThat(names.find("karl")).contains(new LookupEntry(2, 43));
        assertThat(fixture.all(RECORDS.formatted("karl"))).hasSize(1);
    }

    /** The driver's own connection leads past the guard that refuses such text. */
    @Test
    void aTransactionThatWasPreparedBehindTheRouterKeepsWhatItClaimed() throws Exception {
        List<String> server = new ArrayList<>();
        assertThat(catchThrowable(() -> router.<SQLException>run(1, tx -> {
                    server.add(tx.placement().server().url());
                    names.claim("lena", 1, 44);
                    ofDriver(tx, "PREPARE TRANSACTION 'lena'");
                    throw new IllegalArgumentException("no");
                })))
                .hasMessage("no");
        assertThat(claims("lena")).containsExactly("new");
        try (Connection connection = ServerUrl.parse(server.get(0)).connect("a test")) {
            Sql.execute(connection, "COMMIT PREPARED 'lena'");
        }
        assertThatThrownBy(() -> claim(names, "lena", 2, 45)).isInstanceOf(LookupTakenException.class);
        assertThat(names.find("lena")).contains(new LookupEntry(1, 44));
        assertThat(fixture.all(RECORDS.formatted("lena"))).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"COMMIT", "COMMIT AND CHAIN"})
    void aTransactionThatWasCommittedBehindTheRouterGivesNoValueToTwoRows(String commit) throws Exception {
        String value = "of " + commit;
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            assertThat(catchThrowable(() -> router.<Exception>run(1, tx -> {
                        names.claim(value, 1, 46);
                        ofDriver(tx, commit);
                        other.submit(() -> {
                                    router.run(1, inner -> names.release(value, 1, 46));
                                    claim(names, value, 2, 47);
                                })
                                .get(60, TimeUnit.SECONDS);
                        assertThatThrownBy(() -> names.claim(value, 1, 46)).isInstanceOf(LookupTakenException.class);
                        throw new IllegalArgumentException("no");
                    })))
                    .hasMessage("no");
        } finally {
            other.shutdownNow();
        }
        assertThat(names.find(value)).contains(new LookupEntry(2, 47));
        assertThat(fixture.all(RECORDS.formatted(value))).hasSize(1);
    }

    private static void ofDriver(ShardTransaction tx, String sql) throws SQLException {
        try (Statement statement = tx.connection().unwrap(PgConnection.class).createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void aDropWaitsForTransactionsThatHaveClaimed() throws Exception {
        LookupTables lookups = fixture.lookups();
        lookups.create(LookupFixture.free("dropped"));
        ExecutorService operator = Executors.newSingleThreadExecutor();
        try (ShardRouter unheard = fixture.router().build()) {
            Lookup its = unheard.lookup("dropped");
            Future<?> dropping = unheard.<Future<?>, Exception>write(1, tx -> {
                its.claim("liz", 1, 44);
                Future<?> dropped = operator.submit(() -> {
                    lookups.drop("dropped", Duration.ZERO);
                    return true;
                });
                await().atMost(Duration.ofMinutes(1))
                        .until(() -> fixture.all(
                                                "SELECT '' FROM ${shard.schema}.shardflake_lookup WHERE value = '' AND lookup = (SELECT max(lookup) FROM ${shard.schema}.shardflake_lookup)")
                                        .size()
                                == LookupFixture.SHARDS);
                TimeUnit.MILLISECONDS.sleep(200);
                assertThat(dropped.isDone()).isFalse();
                return dropped;
            });
            dropping.get(60, TimeUnit.SECONDS);

            // This router has not asked the catalog since.
            lookups.create(LookupFixture.free("dropped"));
            unheard.run(2, tx -> its.claim("liz", 2, 45));
            assertThat(its.find("liz")).contains(new LookupEntry(2, 45));
            try (ShardRouter fresh = fixture.router().build()) {
                assertThatThrownBy(() -> claim(fresh.lookup("dropped"), fresh, "liz", 3, 46))
                        .isInstanceOf(LookupTakenException.class);
            }
        } finally {
            operator.shutdownNow();
        }
    }

    private static void claim(Lookup lookup, ShardRouter by, String value, long uid, long id) {
        by.run(uid, tx -> lookup.claim(value, uid, id));
    }

    /** A row that was written before the lookup was there has claimed nothing. */
    @Test
    void aBackfillWaitsForTransactionsThatHaveWrittenToTheTable() throws Exception {
        ExecutorService operator = Executors.newSingleThreadExecutor();
        try (Connection connection = fixture.connect(0);
                Connection observer = fixture.connect(0)) { // a transaction sees one moment of pg_stat_activity
            connection.setAutoCommit(false);
            LookupFixture.insert(connection, "shard_0000", 0, "mia");
            Future<?> filling = operator.submit(
                    () -> fixture.lookups().backfill("account.email", BackfillSettings.DEFAULT, rows -> {}));
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> filling.isDone() || Sql.isTrue(observer, ASKS_FOR_WRITERS));
            assertThat(filling.isDone()).isFalse();
            connection.commit();
            filling.get(60, TimeUnit.SECONDS);
        } finally {
            operator.shutdownNow();
        }
        assertThat(fixture.all(RECORDS.formatted("mia"))).hasSize(1);
    }

    /** As after a restore of the catalog to a moment before the lookup. */
    @Test
    void aNumberThatShardsKnowIsNotUsedAgain() throws Exception {
        LookupTables lookups = fixture.lookups();
        int number = lookups.create(LookupFixture.free("unknown")).number();
        try (ShardRouter unheard = fixture.router().build()) {
            Lookup its = unheard.lookup("unknown");
            claim(its, unheard, "nina", 1, 50);
            forgetInCatalog("unknown", number - 1);

            assertThat(lookups.create(LookupFixture.free("next")).number()).isGreaterThan(number);

            claim(router.lookup("next"), "nina", 2, 51);
            assertThat(router.lookup("next").find("nina")).contains(new LookupEntry(2, 51));
            assertThatThrownBy(() -> claim(its, unheard, "olga", 1, 50))
                    .isInstanceOf(ShardflakeException.class)
                    .hasMessageStartingWith("there is no lookup unknown");
            assertThat(lookups.create(LookupFixture.free("unknown")).number()).isGreaterThan(number + 1);
            claim(its, unheard, "nina", 3, 52);
            assertThat(its.find("nina")).contains(new LookupEntry(3, 52));
        }
    }

    private static void forgetInCatalog(String lookup, int last) throws SQLException {
        try (Connection catalog = fixture.catalog().connect("a test")) {
            Sql.update(catalog, "DELETE FROM shardflake_catalog.lookup WHERE name = ?", lookup);
            Sql.list(
                    catalog,
                    "SELECT setval(pg_get_serial_sequence('shardflake_catalog.lookup', 'number'), ?)",
                    row -> row.getLong(1),
                    (long) last);
        }
    }

    /** As after a restore of the catalog to a moment before the drop. */
    @Test
    void theDoctorNamesALookupThatShardsKnowOtherwise() throws Exception {
        LookupTables lookups = fixture.lookups();
        int number = lookups.create(LookupFixture.free("restored")).number();
        lookups.create(LookupFixture.plan("tag", false));
        assertThat(findings()).isEmpty();
        lookups.drop("restored", Duration.ZERO);
        try (Connection catalog = fixture.catalog().connect("a test");
                Connection server = fixture.connect(1)) {
            Sql.update(
                    catalog,
                    "INSERT INTO shardflake_catalog.lookup (number, name, is_unique, ignores_case, is_hashed, state) OVERRIDING SYSTEM VALUE VALUES (?, 'restored', true, false, false, 'ready')",
                    number);
            Sql.execute(server, "ALTER TABLE shard_0004.account RENAME tag TO label");

            assertThat(findings())
                    .containsExactlyInAnyOrder(
                            "lookup-dropped: lookup restored is ready in the catalog, and was dropped in shards 0-2, as after a restore of the catalog to an earlier moment; they refuse it",
                            "lookup-dropped: lookup restored is ready in the catalog, and was dropped in shards 3-5, as after a restore of the catalog to an earlier moment; they refuse it",
                            "lookup-source: shard 4 on db2 lacks column tag of table account, whose values lookup account.tag finds");
            assertThatThrownBy(() -> lookups.create(new LookupPlan(
                            "account.label",
                            false,
                            false,
                            false,
                            Optional.of(new LookupDefinition.Source("account", "tag", "uid", "id")))))
                    .hasMessage("shard 4 on db2 lacks column tag of table account; nothing was changed");
            Sql.execute(server, "ALTER TABLE shard_0004.account RENAME label TO tag");
        }
        lookups.drop("restored", Duration.ZERO);
        lookups.drop("account.tag", Duration.ZERO);
        assertThat(findings()).isEmpty();
    }

    private static List<String> findings() throws InterruptedException {
        Map<String, ServerUrl> urls = Map.of(
                "db1",
                fixture.catalog(),
                "db2",
                ServerUrl.parse(postgres.database(1).uri()));
        return new Doctor(fixture.catalog(), urls, Mover.at(fixture.catalog(), MoveSettings.DEFAULT, MoveListener.NONE))
                .examine().stream()
                        .filter(finding -> finding.check().startsWith("lookup"))
                        .map(finding -> finding.check() + ": " + finding.found())
                        .toList();
    }

    /** It goes on with what it knew, and that is not the lookup any more. */
    @Test
    void aRouterThatCannotReadTheCatalogIsRefusedWhatWasMadeAgain() throws Exception {
        LookupTables lookups = fixture.lookups();
        lookups.create(LookupFixture.free("remade"));
        try (ShardRouter cutOff = fixture.router().build();
                Connection catalog = fixture.catalog().connect("a test")) {
            Lookup its = cutOff.lookup("remade");
            claim(its, cutOff, "pia", 1, 60);
            lookups.drop("remade", Duration.ZERO);
            lookups.create(LookupFixture.free("remade"));
            claim(router.lookup("remade"), "pia", 2, 61);
            Sql.execute(catalog, "ALTER TABLE shardflake_catalog.lookup RENAME state TO hidden");
            try {
                for (ThrowingCallable use : List.<ThrowingCallable>of(
                        () -> its.find("pia"),
                        () -> claim(its, cutOff, "pia", 1, 60),
                        () -> cutOff.run(1, tx -> its.change("pia", "paula", 1, 60)),
                        () -> cutOff.run(1, tx -> its.release("pia", 1, 60)))) {
                    assertThatThrownBy(use)
                            .hasMessage(
                                    "lookup remade was dropped, and the catalog did not tell this router of another of that name");
                }
            } finally {
                Sql.execute(catalog, "ALTER TABLE shardflake_catalog.lookup RENAME hidden TO state");
            }
            await().atMost(Duration.ofMinutes(1))
                    .ignoreExceptions()
                    .untilAsserted(() -> assertThat(its.find("pia")).contains(new LookupEntry(2, 61)));
        }
    }

    @Test
    void aFailureDoesNotHideWhatWasFoundToDiffer() throws Exception {
        LookupTables lookups = fixture.lookups();
        lookups.create(new LookupPlan(
                "account.both",
                false,
                false,
                false,
                Optional.of(new LookupDefinition.Source("account", "email", "uid", "id"))));
        try (Connection first = fixture.connect(0);
                Connection second = fixture.connect(1)) {
            long row = LookupFixture.insert(first, "shard_0000", 0, "unclaimed");
            lookups.backfill("account.both", BackfillSettings.DEFAULT, rows -> {});
            Sql.update(first, "UPDATE shard_0000.account SET email = 'changed since' WHERE id = ?", row);
            Sql.execute(second, "ALTER TABLE shard_0005.account RENAME email TO mail");
            try {
                LookupCheck check = lookups.verify("account.both", 1);
                assertThat(check.differing()).isOne();
                assertThat(check.differences().get(0)).contains("where the row has changed since");
                assertThat(check.failure().orElseThrow()).contains("column \"email\" does not exist");
            } finally {
                Sql.execute(second, "ALTER TABLE shard_0005.account RENAME mail TO email");
                Sql.update(first, "DELETE FROM shard_0000.account WHERE id = ?", row);
            }
        } finally {
            lookups.drop("account.both", Duration.ZERO);
        }
    }

    @Test
    void refusesLookupsThatCannotBe() throws InterruptedException {
        LookupTables lookups = fixture.lookups();
        assertThatThrownBy(() -> lookups.create(LookupFixture.plan("nothing", true)))
                .hasMessage("table account has no column nothing");
        assertThatThrownBy(() -> lookups.create(new LookupPlan(
                        "x",
                        true,
                        false,
                        false,
                        Optional.of(new LookupDefinition.Source("nothing", "a", "uid", "id")))))
                .hasMessage("there is no table nothing in the shards");
        assertThat(lookups.create(LookupFixture.free("name")).name())
                .as("again")
                .isEqualTo("name");
        assertThatThrownBy(() -> lookups.create(new LookupPlan("name", false, false, false, Optional.empty())))
                .hasMessage("lookup name exists already, with other properties");
        assertThatThrownBy(() -> lookups.backfill("name", BackfillSettings.DEFAULT, rows -> {}))
                .hasMessage("lookup name has no source, so its values are only in the application");
        assertThatThrownBy(() -> lookups.verify("nmae", 1)).hasMessage("there is no lookup nmae");
    }

    @Test
    void shardsThatComeLaterHaveTheTables() throws Exception {
        String count =
                "SELECT '${shard.schema}' FROM pg_tables WHERE schemaname = '${shard.schema}' AND tablename LIKE 'shardflake_lookup%'";
        assertThat(fixture.all(count)).hasSize(2 * LookupFixture.SHARDS);
        try (Connection connection = postgres.database(0).connect()) {
            Sql.execute(connection, "SELECT shardflake.drop_shard(0, true); DELETE FROM shardflake.placement");
        }
        fixture.deploy(LookupFixture.ACCOUNT);
        assertThat(fixture.all(count)).hasSize(2 * LookupFixture.SHARDS);
    }
}
