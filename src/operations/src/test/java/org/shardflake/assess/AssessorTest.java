/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.throwable;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.shardflake.ShardflakeException;
import org.shardflake.assess.Assessment.Obstacle;
import org.shardflake.assess.Assessment.Routing;
import org.shardflake.assess.Assessment.Table;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

class AssessorTest {

    private static PostgresCluster cluster;
    private static ServerUrl url;

    @BeforeAll
    static void start() throws SQLException {
        // External servers need not have the library.
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .setting("shared_preload_libraries", "pg_stat_statements")
                .start();
        url = ServerUrl.parse(cluster.server(0).uri("postgres"));
        execute(SHOP);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static Connection connect() throws SQLException {
        return cluster.server(0).connect();
    }

    private static Map<String, String> places(Assessment assessment) {
        Map<String, String> places = new TreeMap<>();
        for (Table table : assessment.tables()) {
            places.put(table.name(), (table.placement() + " " + table.path()).strip());
        }
        return places;
    }

    private static List<String> problems(Assessment assessment, String name) {
        return assessment.tables().stream()
                .filter(table -> table.name().equals(name))
                .flatMap(table -> table.obstacles().stream())
                .map(Obstacle::problem)
                .toList();
    }

    private static final String SHOP = """
            CREATE TABLE country (code char(2) PRIMARY KEY, name text NOT NULL);
            CREATE TABLE users (id bigserial PRIMARY KEY, email text NOT NULL UNIQUE, country char(2) REFERENCES country, invited_by bigint REFERENCES users);
            CREATE TABLE product (id serial PRIMARY KEY, name text NOT NULL, created_by bigint REFERENCES users);
            CREATE TABLE product_name (product integer REFERENCES product, language text, name text, PRIMARY KEY (product, language));
            CREATE TABLE orders (id bigserial PRIMARY KEY, user_id bigint NOT NULL REFERENCES users, at timestamptz NOT NULL DEFAULT now());
            CREATE TABLE item (order_id bigint REFERENCES orders, line integer, product integer NOT NULL REFERENCES product, price numeric NOT NULL,
                               PRIMARY KEY (order_id, line));
            CREATE TABLE refund (id bigserial PRIMARY KEY, order_id bigint NOT NULL, line integer NOT NULL, FOREIGN KEY (order_id, line) REFERENCES item);
            CREATE TABLE session (token uuid PRIMARY KEY, user_id bigint NOT NULL);
            CREATE TABLE follow (follower bigint REFERENCES users, followed bigint REFERENCES users, PRIMARY KEY (follower, followed));
            CREATE TABLE job (id bigserial PRIMARY KEY, payload oid, done boolean);
            CREATE TABLE event (who bigint NOT NULL, at date NOT NULL, kind text) PARTITION BY RANGE (at);
            CREATE TABLE event_2026 PARTITION OF event FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
            ALTER TABLE event_2026 ADD FOREIGN KEY (who) REFERENCES users;
            INSERT INTO country VALUES ('at', 'Austria'), ('nz', 'New Zealand');
            INSERT INTO users (email, country) SELECT 'u' || n, 'at' FROM generate_series(1, 3000) n;
            INSERT INTO product (name) SELECT 'p' || n FROM generate_series(1, 50) n;
            INSERT INTO orders (user_id) SELECT 1 + n % 3000 FROM generate_series(1, 9000) n;
            INSERT INTO item SELECT id, 1, 1 + id % 50, 9 FROM orders;
            INSERT INTO refund (order_id, line) SELECT order_id, line FROM item WHERE order_id % 40 = 0;
            INSERT INTO session SELECT gen_random_uuid(), n FROM generate_series(1, 500) n;
            INSERT INTO follow SELECT n, n + 1 FROM generate_series(1, 2000) n;
            INSERT INTO event SELECT n, '2026-03-01', 'login' FROM generate_series(1, 2000) n;
            ANALYZE
            """;

    /** Its name may be another one. */
    @Test
    void theHistoryOfFlywayIsNoTableToShard() throws SQLException {
        execute("""
                CREATE SCHEMA old;
                CREATE TABLE old."made %s" (installed_rank int PRIMARY KEY, version text, description text, type text, script text, checksum int,
                    installed_by text, installed_on timestamp, execution_time int, success boolean);
                INSERT INTO old."made %s" VALUES (1, '9', '', 'SQL', '', 1, '', now(), 1, true), (2, '10', '', 'SQL', '', 1, '', now(), 1, true),
                    (3, NULL, 'view', 'SQL', '', 1, '', now(), 1, true)
                """);
        try {
            Assessment shop = Assessor.assess(url, null, "");

            assertThat(places(shop).keySet()).contains("users").noneMatch(name -> name.contains("made"));
            assertThat(shop.obstacles())
                    .extracting(Obstacle::problem)
                    .contains("Flyway's history, old.\"made %s\", whose last version is 10");
        } finally {
            execute("DROP SCHEMA old CASCADE");
        }
    }

    @Test
    void everyTableOfAShopHasAPlace() throws SQLException {
        Assessment shop = Assessor.assess(url, null, "");

        assertThat(shop.key().name()).isEqualTo("users.id");
        assertThat(shop.key().values()).isEqualTo(3000);
        assertThat(places(shop))
                .containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                        Map.entry("country", "REFERENCE"),
                        Map.entry("users", "PRIMARY_KEY id"),
                        Map.entry("product", "REFERENCE"),
                        Map.entry("product_name", "REFERENCE"),
                        Map.entry("orders", "COLUMN user_id"),
                        Map.entry("item", "PATH order_id -> orders.user_id"),
                        Map.entry("refund", "PATH (order_id, line) -> item.order_id -> orders.user_id"),
                        Map.entry("session", "COLUMN user_id"),
                        Map.entry("follow", "COLUMN follower"),
                        Map.entry("job", "STAYS"),
                        Map.entry("event", "COLUMN who")));
        assertThat(problems(shop, "users"))
                .anyMatch(problem -> problem.contains("unique index users_email_key"))
                .anyMatch(problem -> problem.contains("users_invited_by_fkey"));
        assertThat(problems(shop, "follow")).anyMatch(problem -> problem.endsWith("also by followed"));
        assertThat(problems(shop, "event")).contains("it has no primary key", "it is partitioned");
        assertThat(problems(shop, "item")).containsExactly("it has no column with the key");
        assertThat(problems(shop, "orders")).isEmpty();
    }

    @Test
    void aTableWithoutStatisticsHasAnUnknownNumberOfRows() throws SQLException {
        execute("""
                CREATE SCHEMA fresh;
                CREATE TABLE fresh.filled (id bigint PRIMARY KEY) WITH (autovacuum_enabled = off);
                CREATE TABLE fresh.empty (id bigint PRIMARY KEY) WITH (autovacuum_enabled = off);
                INSERT INTO fresh.filled SELECT generate_series(1, 10)
                """);
        try {
            assertThat(Assessor.assess(url, null, "").tables())
                    .filteredOn(table -> table.name().startsWith("fresh"))
                    .extracting(table -> table.name() + " " + table.rows())
                    .containsExactlyInAnyOrder("fresh.filled -1", "fresh.empty 0");
        } finally {
            execute("DROP SCHEMA fresh CASCADE");
        }
    }

    /** The query that the report gives finds for every row the key that the way through the foreign keys leads to. */
    @Test
    void theQueryOfAPathFindsTheKey() throws SQLException {
        String query = Assessor.assess(url, null, "").tables().stream()
                .filter(table -> table.name().equals("refund"))
                .map(Table::keyQuery)
                .findFirst()
                .orElseThrow();
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("""
                        SELECT count(*) FILTER (WHERE (%s) = (SELECT user_id FROM orders o WHERE o.id = refund.order_id)), count(*) FROM refund
                        """.formatted(query))) {
            row.next();
            assertThat(row.getLong(1)).isEqualTo(row.getLong(2)).isEqualTo(225);
        }
    }

    @Test
    void aColumnThatAllTablesHaveIsAKeyWithoutATable() throws SQLException {
        execute("CREATE DATABASE invoices");
        try (Connection connection = cluster.server(0).connect("invoices");
                Statement statement = connection.createStatement()) {
            statement.execute("""
                CREATE SCHEMA app;
                CREATE TABLE app."Invoice" (id uuid PRIMARY KEY, tenant text NOT NULL, number integer NOT NULL, UNIQUE (tenant, number));
                CREATE TABLE app.line (id uuid PRIMARY KEY, tenant text NOT NULL, invoice uuid NOT NULL REFERENCES app."Invoice");
                INSERT INTO app."Invoice" SELECT gen_random_uuid(), 't' || n % 400, n FROM generate_series(1, 4000) n;
                INSERT INTO app.line SELECT gen_random_uuid(), tenant, id FROM app."Invoice";
                ANALYZE
                """);
        }
        ServerUrl url = ServerUrl.parse(cluster.server(0).uri("invoices"));
        Assessment invoices = Assessor.assess(url, "tenant", "SELECT * FROM app.line WHERE tenant = ?");

        assertThat(places(invoices)).isEqualTo(Map.of("app.\"Invoice\"", "COLUMN tenant", "app.line", "COLUMN tenant"));
        assertThat(problems(invoices, "app.\"Invoice\"")).isEmpty();
        assertThat(invoices.statements().get(0).routing()).isEqualTo(Routing.KEY);
        assertThatThrownBy(() -> Assessor.assess(url, "nothing", ""))
                .hasMessage("nothing is not a possible key")
                .asInstanceOf(throwable(ShardflakeException.class))
                .extracting(e -> e.hint().orElseThrow())
                .asString()
                .contains("tenant");
    }

    /** PostgreSQL hides the statistics of a table as it hides its rows. */
    @Test
    void statisticsThatTheLoginMayNotSeeAreNamed() throws SQLException {
        ServerUrl clerk = ServerUrl.parse(cluster.server(0).uri("postgres").replace("postgres@", "clerk@"));
        execute("""
                CREATE ROLE clerk LOGIN;
                GRANT SELECT ON ALL TABLES IN SCHEMA public TO clerk;
                REVOKE SELECT ON follow FROM clerk;
                ALTER TABLE orders ENABLE ROW LEVEL SECURITY
                """);
        try {
            assertThat(Assessor.assess(clerk, null, "").obstacles())
                    .extracting(Obstacle::problem)
                    .contains("statistics that this login may not see, of: public.follow, public.orders");
            assertThat(Assessor.assess(url, null, "").obstacles())
                    .extracting(Obstacle::problem)
                    .noneMatch(problem -> problem.contains("statistics"));
        } finally {
            execute("ALTER TABLE orders DISABLE ROW LEVEL SECURITY; DROP OWNED BY clerk; DROP ROLE clerk");
        }
    }

    @Test
    void whatPgStatStatementsRecordedIsSorted() throws SQLException {
        execute("CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()");
        execute("""
                SELECT * FROM orders WHERE user_id = 7; SELECT * FROM orders WHERE user_id = 8;
                SELECT count(*) FROM users WHERE email = 'u7'; UPDATE job SET done = true; SELECT 1
                """);
        Assessment shop = Assessor.assess(url, null, null);

        assertThat(shop.source()).isEqualTo("pg_stat_statements");
        Map<String, Routing> sorted = new TreeMap<>();
        shop.statements()
                .forEach(statement -> sorted.put(statement.calls() + " " + statement.sql(), statement.routing()));
        assertThat(sorted)
                .containsEntry("2 SELECT * FROM orders WHERE user_id = $1", Routing.KEY)
                .containsEntry("1 SELECT count(*) FROM users WHERE email = $1", Routing.NO_KEY)
                .containsEntry("1 UPDATE job SET done = $1", Routing.ELSEWHERE);

        execute("CREATE ROLE stranger LOGIN");
        try {
            ServerUrl stranger =
                    ServerUrl.parse(cluster.server(0).uri("postgres").replace("postgres@", "stranger@"));
            assertThat(Assessor.assess(stranger, null, null).statements())
                    .filteredOn(one -> one.routing() == Routing.NOT_PLANNED)
                    .extracting(one -> Objects.requireNonNull(one.obstacle()).problem())
                    .contains("its text is hidden from this login, since another role ran it");
        } finally {
            execute("DROP ROLE stranger");
        }
    }

    @Test
    void statementsGoWhereTheirKeysAre() throws SQLException {
        Map<String, Routing> expected = Map.ofEntries(
                Map.entry("SELECT * FROM orders WHERE user_id = $1 AND at > $2", Routing.KEY),
                Map.entry("SELECT * FROM users u JOIN orders o ON o.user_id = u.id WHERE u.id = ?", Routing.KEY),
                Map.entry(
                        "SELECT * FROM orders o JOIN item i ON i.order_id = o.id JOIN product p ON p.id = i.product WHERE o.user_id = $1",
                        Routing.KEY),
                Map.entry("SELECT * FROM event WHERE who = 7", Routing.KEY),
                Map.entry("SELECT * FROM users WHERE id = 7 FOR UPDATE", Routing.KEY),
                Map.entry("INSERT INTO users (email) VALUES ($1)", Routing.KEY),
                Map.entry("INSERT INTO orders (user_id) VALUES ($1) RETURNING id", Routing.KEY),
                Map.entry("DELETE FROM session WHERE user_id = $1 AND token <> $2", Routing.KEY),
                Map.entry("SELECT * FROM item WHERE order_id = $1", Routing.ID),
                Map.entry("UPDATE orders SET at = now() WHERE id = $1", Routing.ID),
                Map.entry("INSERT INTO item VALUES ($1, $2, $3, $4)", Routing.ID),
                Map.entry("SELECT * FROM users WHERE id = ANY ($1)", Routing.SEVERAL_KEYS),
                Map.entry("SELECT * FROM users WHERE id IN ($1, $2)", Routing.SEVERAL_KEYS),
                Map.entry(
                        "SELECT * FROM orders a, orders b WHERE a.user_id = $1 AND b.user_id = $2",
                        Routing.SEVERAL_KEYS),
                Map.entry("SELECT * FROM orders WHERE user_id = $1 OR at > $2", Routing.NO_KEY),
                Map.entry("SELECT * FROM orders WHERE NOT user_id = $1", Routing.NO_KEY),
                Map.entry("SELECT * FROM users WHERE email = $1", Routing.NO_KEY),
                Map.entry("SELECT * FROM orders o, item i WHERE o.user_id = $1", Routing.NO_KEY),
                Map.entry("SELECT * FROM orders o LEFT JOIN job j ON j.id = o.id WHERE o.user_id = $1", Routing.MIXED),
                Map.entry("SELECT * FROM product", Routing.ELSEWHERE),
                Map.entry("SELECT * FROM nowhere", Routing.NOT_PLANNED));

        Assessment shop = Assessor.assess(url, "users.id", String.join(";\n", expected.keySet()) + "; VACUUM");

        Map<String, Routing> sorted = new TreeMap<>();
        shop.statements().forEach(statement -> sorted.put(statement.sql(), statement.routing()));
        assertThat(sorted).containsExactlyInAnyOrderEntriesOf(expected);
    }

    @Test
    void whyAStatementIsNotUnderstoodIsSaid() throws SQLException {
        Map<String, String> expected = Map.ofEntries(
                Map.entry("SELECT * FROM nowhere", "it needs a table that this login does not find: "),
                Map.entry("SELECT * FROM old.users", "it needs a table that this login does not find: "),
                Map.entry("SELECT nickname FROM users", "it needs a column that is unknown: "),
                Map.entry("SELECT ifnull(email, $1) FROM users", "it needs a function, an operator or a type "),
                Map.entry("SELECT now() - interval $1", "it could not be parsed: "),
                Map.entry("SELECT TOP 10 email FROM users", "it could not be parsed: "),
                Map.entry("SELECT $1 IS NULL", "the type of a parameter is unknown or wrong: "),
                Map.entry("CALL tidy_up()", "it calls a procedure"),
                Map.entry("COPY users TO STDOUT", "it is COPY of a whole table"),
                Map.entry("COPY (SELECT email FROM users WHERE id = 1) TO STDOUT", "it copies the rows of a query"),
                Map.entry("TRUNCATE job", "it is TRUNCATE of a whole table"),
                Map.entry("FETCH 10 FROM c", "it is of a cursor"),
                Map.entry("<insufficient privilege>", "its text is hidden from this login"));

        Assessment shop = Assessor.assess(url, "users.id", String.join(";\n", expected.keySet()));

        assertThat(shop.statements()).hasSameSizeAs(expected.keySet()).allSatisfy(one -> {
            assertThat(one.routing()).isEqualTo(Routing.NOT_PLANNED);
            Obstacle why = Objects.requireNonNull(one.obstacle());
            assertThat(why.problem()).as(one.sql()).startsWith(expected.get(one.sql()));
            assertThat(why.remedy()).as(one.sql()).isNotBlank();
        });
    }

    @Test
    void whatFollowsAStatementInItsTextIsNotRun() throws SQLException {
        try (Connection connection = connect()) {
            connection.setAutoCommit(false);
            Sql.execute(connection, "SET TRANSACTION READ ONLY");
            var recorded = new StatementSource.Recorded("SELECT 1; COMMIT; CREATE TABLE left_behind ()", 1, 1);

            assertThat(StatementSource.plan(connection, SourceSchema.read(connection), recorded)
                            .obstacle())
                    .isEqualTo(Unplanned.SEVERAL);
            assertThat(Sql.isTrue(connection, "SELECT to_regclass('public.left_behind') IS NULL"))
                    .isTrue();
        }
    }

    /** Runs random joins: those that are said to have one key find rows of no other. */
    @Test
    void aStatementThatHasOneKeyFindsRowsOfNoOther() throws SQLException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<String> queries = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            queries.add(randomQuery(random));
        }
        Assessment shop = Assessor.assess(url, "users.id", String.join(";\n", queries));
        int keyed = 0;
        int others = 0;
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (Assessment.Statement one : shop.statements()) {
                assertThat(one.routing()).as(one.sql()).isNotEqualTo(Routing.NOT_PLANNED);
                if (one.routing() != Routing.KEY) {
                    others++;
                    continue;
                }
                keyed++;
                Set<Long> keys = new HashSet<>();
                try (ResultSet row = statement.executeQuery(one.sql() + " LIMIT 2000")) {
                    int columns = row.getMetaData().getColumnCount();
                    while (row.next()) {
                        for (int column = 1; column <= columns; column++) {
                            long key = row.getLong(column);
                            if (!row.wasNull()) {
                                keys.add(key);
                            }
                        }
                    }
                }
                assertThat(keys).as("seed %s: %s", seed, one.sql()).hasSizeLessThanOrEqualTo(1);
            }
        }
        assertThat(keyed).as("seed %s", seed).isGreaterThan(10);
        assertThat(others).as("seed %s", seed).isGreaterThan(10);
    }

    /** A join of some tables that selects the key of each row, with the conditions that applications have, and some that have none. */
    private static String randomQuery(Random random) {
        List<String> tables = new ArrayList<>(List.of("users u", "orders o", "item i", "session s"));
        Collections.shuffle(tables, random);
        tables = tables.subList(0, 1 + random.nextInt(3));
        Map<String, String> keys = Map.of(
                "u", "u.id",
                "o", "o.user_id",
                "i", "(SELECT k.user_id FROM orders k WHERE k.id = i.order_id)",
                "s", "s.user_id");
        List<String> conditions = new ArrayList<>();
        List<String> possible = List.of(
                "u.id = o.user_id",
                "i.order_id = o.id",
                "s.user_id = u.id",
                "s.user_id = o.user_id",
                "u.id = 7",
                "o.user_id = 7",
                "s.user_id = 7",
                "(o.user_id = 7 OR o.id = 9)",
                "u.id IN (7, 8)",
                "o.id = 4007",
                "i.order_id = 4007",
                "u.email = 'u7'",
                "o.user_id = 8",
                "i.line = o.id",
                "u.id = o.id",
                "NOT u.id = 7",
                "u.id = i.product",
                "u.id - 1 = 6",
                "o.user_id::text = '7'");
        for (String condition : possible) {
            if (random.nextInt(3) == 0 && hasTables(condition, tables)) {
                conditions.add(condition);
            }
        }
        // So that no join of all rows with all others takes long.
        for (String table : tables) {
            if (table.equals("item i")) {
                conditions.add("i.line < 2");
            }
        }
        List<String> selected = tables.stream()
                .map(table -> keys.get(table.substring(table.length() - 1)))
                .toList();
        return "SELECT " + String.join(", ", selected) + " FROM " + String.join(", ", tables)
                + (conditions.isEmpty() ? "" : " WHERE " + String.join(" AND ", conditions));
    }

    private static boolean hasTables(String condition, List<String> tables) {
        for (String alias : List.of("u", "o", "i", "s")) {
            boolean needs = condition.matches("(?s)(^|.*\\W)" + alias + "\\..*");
            if (needs && tables.stream().noneMatch(table -> table.endsWith(" " + alias))) {
                return false;
            }
        }
        return true;
    }
}
