/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.SliceReport;
import org.shardflake.adopt.TableComparison;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.assess.Assessment;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.DarkRead.Outcome;
import org.shardflake.router.Lookup;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.ShardRouter;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * A shop with users, orders and items leaves its one database while 16 threads use it by JPA, jOOQ and JDBC: all states of an adoption, and half of the shards back when the
 * last has left. The application is started once, while the first rows are still to be copied. Its own tests pass in each state, no call fails, each thread reads what it
 * wrote, and in the end the shards have exactly the rows that were acknowledged.
 */
@Tag("full")
class ShopLeavesItsDatabaseIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final ShardSet ALL = ShardSet.range(0, OldShop.SHARDS - 1);
    private static final ShardSet ONE_PERCENT = ShardSet.of(0);
    private static final ShardSet HALF = ShardSet.range(0, OldShop.SHARDS / 2 - 1);
    private static final int WRITES = Integer.getInteger("shop.writes", 400);

    @TempDir
    private Path directory;

    private ShopAdoption adoption;
    private Customers customers;
    private ShopChecks checks;
    private ConfigurableApplicationContext application;

    @Test
    @Timeout(value = 15, unit = TimeUnit.MINUTES)
    void noCallFailsAndNoWriteIsLost() throws Exception {
        long seed = Long.getLong("tests.seed", new Random().nextLong());
        try (OldShop old = new OldShop(postgres.database(2))) {
            adoption = new ShopAdoption(postgres, old, directory);
            AdoptionPlan plan = plan();
            adoption.createShards();
            adoption.beginToCopy();
            application = release(old);
            checks = new ShopChecks(old);
            customers = new Customers(old, application, seed);
            try {
                pass("released");
                assertThat(plan()).isEqualTo(plan);
                goThroughAllStates();
            } finally {
                System.out.printf("seed %s: %s%n", seed, customers);
                customers.close();
                application.close();
            }
        }
    }

    private void goThroughAllStates() throws Exception {
        adoption.adopt(DatabaseAdopter::run);
        pass("followed");
        assertThat(adoption.adopt(DatabaseAdopter::verify)).noneMatch(TableComparison::differs);
        rehearse();
        cutOver(ONE_PERCENT, "one percent");
        cutOver(HALF, "half");
        cutOver(ALL, "all");
        List<SliceReport> back = adoption.adopt(adopter -> adopter.reverse(HALF).now());
        say("half of it back", back);
        assertThat(back).hasSize(OldShop.SHARDS / 2);
        pass("half of it back");
        cutOver(ALL, "all again");
        List<ShopJournal> journals = new ArrayList<>(customers.stop());
        journals.add(checks.journal());
        check(journals);
        usersAreFoundByLookup(journals);
    }

    /** Lets the threads write for a while, then runs the application's own tests. */
    private void pass(String state) throws SQLException {
        customers.awaitMore(WRITES / 2);
        checks.pass(application, state.replace(' ', '.'));
        customers.awaitMore(WRITES / 2);
        System.out.printf("%s: %s%n", state, customers);
    }

    private AdoptionPlan plan() throws Exception {
        Assessment assessed = adoption.assess();
        assertThat(assessed.key().name()).isEqualTo("shop.users.id");
        AdoptionPlan plan = adoption.plan();
        assertThat(plan.tables().stream()
                        .map(table -> "%s %s %s".formatted(table.name().table(), table.goes(), table.shardKey())))
                .containsExactly(
                        "categories REFERENCE null",
                        "items SHARDS user_id",
                        "logins STAYS null",
                        "orders SHARDS user_id",
                        "products REFERENCE null",
                        "users SHARDS id");
        return plan;
    }

    private static ConfigurableApplicationContext release(OldShop old) {
        return ShopApplication.start(
                old,
                "--shardflake.catalog=" + postgres.database(0).uri(),
                "--shardflake.pool.size=24",
                "--shardflake.old-database.url=" + old.uri(),
                "--shardflake.old-database.schema=" + OldShop.SCHEMA,
                "--shardflake.old-database.dark-reads=0.02",
                // Rows that are not copied yet differ, and others wait behind them.
                "--shardflake.old-database.dark-read-lag=100ms");
    }

    private void rehearse() throws SQLException {
        adoption.adopt(adopter -> adopter.cutOver(ShardSet.of())); // Creates the fences.
        List<SliceReport> rehearsed =
                adoption.adopt(adopter -> adopter.rehearse(ALL).now());
        assertThat(rehearsed).hasSize(OldShop.SHARDS);
        say("rehearsed", rehearsed);
        pass("rehearsed");
        DarkReads dark = application.getBean(DarkReads.class);
        assertThat(Poll.everyMillis(20, Duration.ofMinutes(2)).until(() -> dark.count(Outcome.SAME) > 0))
                .isTrue();
        System.out.printf("reads in the dark: %s%n", dark);
        assertThat(dark.failed()).isEmpty();
    }

    private void cutOver(ShardSet shards, String state) throws SQLException {
        List<SliceReport> left =
                adoption.adopt(adopter -> adopter.cutOver(shards).now());
        assertThat(left).isNotEmpty();
        say(state, left);
        pass(state);
    }

    private static void say(String state, List<SliceReport> slices) {
        System.out.printf(
                "%s: %s shards, pauses %s ms%n",
                state,
                slices.size(),
                slices.stream().map(slice -> slice.pause().toMillis()).sorted().toList());
    }

    /** Compares the rows of all shards with the journals, as often as each is there. */
    private void check(List<ShopJournal> journals) throws SQLException {
        Map<String, Integer> unlike = new TreeMap<>();
        for (ShopJournal journal : journals) {
            journal.rows().forEach(row -> unlike.merge(row, 1, Integer::sum));
        }
        assertThat(unlike).hasSizeGreaterThan(OldShop.USERS);
        for (int shard = 0; shard < OldShop.SHARDS; shard++) {
            try (Connection connection = adoption.connect(shard)) {
                ShopJournal.rows(connection, Sharding.schema(shard))
                        .forEach(row -> unlike.merge(row, -1, Integer::sum));
            }
        }
        unlike.values().removeIf(count -> count == 0);
        assertThat(unlike).as("rows that are lost (1), or too many (-1)").isEmpty();
    }

    /** Fills the lookups of the plan, and finds each user by the e-mail address there, too. */
    private void usersAreFoundByLookup(List<ShopJournal> journals) throws Exception {
        adoption.fillLookups();
        try (ShardRouter router =
                ShardRouter.builder().catalog(postgres.database(0).uri()).build()) {
            Lookup emails = router.lookup("users.email");
            for (ShopJournal journal : journals) {
                for (ShopJournal.Account account : journal.accounts()) {
                    assertThat(emails.find(account.email()))
                            .map(LookupEntry::uid)
                            .contains(account.id());
                }
            }
        }
    }
}
