/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** The page for clients in other languages: its client next to the router, and its tables. */
class OtherLanguagesTest {

    private static final Path PAGE = Path.of("../docs/guide/other-languages.md");
    private static final int SHARDS = 4;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    /** One account, with the number of entries that were acknowledged. */
    private record Account(long uid, long id, AtomicLong acknowledged) {}

    @Test
    void aClientWrittenFromThePageWritesNextToTheRouterWhileShardsMove() throws Exception {
        AccountShards shards = AccountShards.create(postgres, 2, SHARDS, directory);
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        AtomicInteger unknown = new AtomicInteger();
        AtomicBoolean stopped = new AtomicBoolean();
        List<Account> accounts = new ArrayList<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ShardRouter router = shards.router().build();
                PageClient following = client(CutSockets.parameters()).follow();
                PageClient deaf = client("");
                PageClient late = client("");
                PageClient later = client("")) {
            assertThat(following.map().shards()).hasSize(SHARDS);
            for (long uid = -3; uid < SHARDS; uid++) {
                long owner = uid;
                long id = deaf.write(
                        uid,
                        (statement, schema) -> number(
                                statement,
                                "INSERT INTO %s.account (uid) VALUES (%s) RETURNING id".formatted(schema, owner)));
                assertThat(PageClient.shardOfId(id)).isEqualTo(Math.floorMod(uid, SHARDS));
                accounts.add(new Account(uid, id, new AtomicLong()));
            }

            List<Future<?>> running = new ArrayList<>();
            for (PageClient client : List.of(following, deaf, following, deaf)) {
                running.add(threads.submit(() -> {
                    while (!stopped.get()) {
                        for (Account account : accounts) {
                            book(client, account, unknown);
                            see(client, account, unknown);
                            Thread.sleep(2); // The servers share the machine.
                        }
                    }
                    return null;
                }));
            }
            running.add(threads.submit(() -> {
                while (!stopped.get()) {
                    for (Account account : accounts) {
                        router.run(account.uid(), tx -> {
                            try (Statement statement = tx.connection().createStatement()) {
                                book(statement, tx.schema(), account, UUID.randomUUID());
                            }
                        });
                        account.acknowledged().incrementAndGet();
                        Thread.sleep(2);
                    }
                }
                return null;
            }));

            ShardSet all = ShardSet.range(0, SHARDS - 1);
            Move move = mover.record("db1", "db2", all, "a test");
            mover.follow(move.id());
            mover.cutOver(move.id(), all);
            stopped.set(true);
            for (Future<?> each : running) {
                each.get(1, TimeUnit.MINUTES);
            }

            assertThat(deaf.repeated()).isPositive();
            assertThat(unknown).hasPositiveValue();
            // Refused by the question with the commit alone, as they only read: at first where a fenced copy is, then
            // where none is.
            see(late, accounts.get(0), unknown);
            mover.complete(move.id());
            see(later, accounts.get(0), unknown);
            assertThat(List.of(late.repeated(), later.repeated())).containsExactly(1, 1);
        } finally {
            stopped.set(true);
            threads.shutdownNow();
        }
        for (Account account : accounts) {
            String schema = Sharding.schema(Math.floorMod(account.uid(), SHARDS));
            assertThat(shards.number(
                            "db2", "SELECT balance FROM %s.account WHERE id = %s".formatted(schema, account.id())))
                    .isEqualTo(account.acknowledged().get())
                    .isEqualTo(shards.number(
                            "db2",
                            "SELECT count(*) FROM %s.entry WHERE account_id = %s".formatted(schema, account.id())));
        }
    }

    /** Books one entry, once, whatever becomes of the commits. */
    private static void book(PageClient client, Account account, AtomicInteger unknown) throws Exception {
        UUID key = UUID.randomUUID();
        for (int attempt = 1; ; attempt++) {
            try {
                client.write(account.uid(), (statement, schema) -> book(statement, schema, account, key));
                account.acknowledged().incrementAndGet();
                return;
            } catch (PageClient.UnknownCommitException e) {
                unknown.incrementAndGet();
                if (attempt == 20) {
                    throw e;
                }
            }
        }
    }

    private static boolean book(Statement statement, String schema, Account account, UUID key) throws SQLException {
        boolean isNew = statement.executeUpdate(
                        "INSERT INTO %s.entry (account_id, amount, key) VALUES (%s, 1, '%s') ON CONFLICT (key) DO NOTHING"
                                .formatted(schema, account.id(), key))
                == 1;
        if (isNew) {
            statement.executeUpdate(
                    "UPDATE %s.account SET balance = balance + 1 WHERE id = %s".formatted(schema, account.id()));
        }
        return isNew;
    }

    /** Sees all that was acknowledged before, since the commit asks; meets no fence otherwise. */
    private static void see(PageClient client, Account account, AtomicInteger unknown) throws Exception {
        long least = account.acknowledged().get();
        try {
            long balance = client.write(
                    account.uid(),
                    (statement, schema) -> number(
                            statement,
                            "SELECT balance FROM %s.account WHERE id = %s FOR SHARE".formatted(schema, account.id())));
            assertThat(balance).isGreaterThanOrEqualTo(least);
        } catch (PageClient.UnknownCommitException e) {
            unknown.incrementAndGet(); // It wrote nothing.
        }
    }

    private static long number(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    private static PageClient client(String parameters) throws SQLException, IOException {
        TestDatabase catalog = postgres.database(2);
        return new PageClient(
                statements(), catalog.uri(catalog.user(), ""), catalog.user(), catalog.password(), parameters);
    }

    /** The page's statements, by the comment before them. */
    private static Map<String, String> statements() throws IOException {
        return Pattern.compile("```sql\n-- ([^\n]*)\n(.*?)\n```", Pattern.DOTALL)
                .matcher(Files.readString(PAGE))
                .results()
                .collect(Collectors.toMap(block -> block.group(1), block -> block.group(2)));
    }

    @Test
    void theClientUsesNothingOfShardflake() throws IOException {
        assertThat(Files.readString(Path.of("src/test/java/org/shardflake/move/PageClient.java")))
                .doesNotContain("import org.shardflake", "SELECT ");
    }

    @Test
    void itsKeysAndIdsAreThoseOfTheLibraryAndOfSql() throws Exception {
        AccountShards shards = AccountShards.create(postgres, 2, SHARDS, directory);
        Map<String, Integer> seen = new HashMap<>();
        try (Connection connection = shards.database("db1").connect()) {
            for (List<String> row : rows("| Key | Type |")) {
                String key = row.get(0).equals("(empty)") ? "" : row.get(0);
                long uid = Long.parseLong(row.get(2));
                int shard = Integer.parseInt(row.get(3));
                seen.merge(row.get(1), 1, Integer::sum);

                assertThat(new Sharding(2000).shard(uid)).as(key).isEqualTo(shard);
                assertThat(PageClient.shardOfUid(uid, 2000)).as(key).isEqualTo(shard);
                switch (row.get(1)) {
                    case "integer" -> assertThat(Long.parseLong(key)).isEqualTo(uid);
                    case "text" -> {
                        assertThat(ShardKey.hash(key)).as(key).isEqualTo(uid);
                        assertThat(PageClient.uid(key)).as(key).isEqualTo(uid);
                        assertThat(Sql.number(
                                        connection, "SELECT shardflake.key_hash(%s::text)".formatted(Sql.quote(key))))
                                .as(key)
                                .isEqualTo(uid);
                    }
                    case "uuid" -> {
                        assertThat(ShardKey.hash(UUID.fromString(key))).as(key).isEqualTo(uid);
                        assertThat(PageClient.uid(UUID.fromString(key))).as(key).isEqualTo(uid);
                        assertThat(Sql.number(connection, "SELECT shardflake.key_hash('%s'::uuid)".formatted(key)))
                                .as(key)
                                .isEqualTo(uid);
                    }
                    default -> throw new AssertionError(row);
                }
            }
            for (List<String> row : rows("| Id | Milliseconds")) {
                long id = Long.parseLong(row.get(0));
                long millis = Long.parseLong(row.get(1));
                int shard = Integer.parseInt(row.get(2));
                int sequence = Integer.parseInt(row.get(3));
                seen.merge("id", 1, Integer::sum);

                assertThat(IdLayout.DEFAULT.timeMillis(id)).isEqualTo(millis);
                assertThat(IdLayout.shard(id)).isEqualTo(shard);
                assertThat(IdLayout.sequence(id)).isEqualTo(sequence);
                assertThat(PageClient.shardOfId(id)).isEqualTo(shard);
                assertThat(Sql.text(connection, """
                        SELECT concat_ws(' ', (extract(epoch FROM shardflake.id_timestamp(id)) * 1000)::bigint, shardflake.id_shard(id), shardflake.id_sequence(id))
                          FROM (SELECT '%s'::bigint AS id) AS given
                        """.formatted(id))).isEqualTo("%s %s %s", millis, shard, sequence);
            }
            assertThat(seen.keySet()).containsExactlyInAnyOrder("integer", "text", "uuid", "id");
            assertThat(Files.readString(PAGE))
                    .contains("function library %s (`shardflake.library_version()`)"
                            .formatted(Sql.number(connection, "SELECT shardflake.library_version()")));
        }
        assertThat(Files.readString(PAGE))
                .contains("catalog %s (`shardflake_catalog.catalog_version()`)"
                        .formatted(shards.catalogNumber("SELECT shardflake_catalog.catalog_version()")));
    }

    /** Texts that look alike differ in the bytes that the page gives. */
    @Test
    void textsWithTheirBytesHaveThem() throws IOException {
        Matcher texts =
                Pattern.compile("\\| `([^`]+)` \\(UTF-8 `([0-9a-f]+)`\\)").matcher(Files.readString(PAGE));
        int found = 0;
        while (texts.find()) {
            found++;
            assertThat(new BigInteger(1, texts.group(1).getBytes(StandardCharsets.UTF_8)).toString(16))
                    .isEqualTo(texts.group(2));
        }
        assertThat(found).isEqualTo(2);
    }

    /** The rows of a table of the page, without the marks of code. */
    private static List<List<String>> rows(String head) throws IOException {
        List<List<String>> rows = Files.readString(PAGE)
                .lines()
                .dropWhile(line -> !line.startsWith(head))
                .skip(2)
                .takeWhile(line -> line.startsWith("|"))
                .map(line -> Arrays.stream(line.substring(1).split("\\|"))
                        .map(cell ->
                                cell.strip().replaceFirst(" \\(UTF-8.*", "").replace("`", ""))
                        .toList())
                .toList();
        assertThat(rows).hasSizeGreaterThan(3);
        return rows;
    }
}
