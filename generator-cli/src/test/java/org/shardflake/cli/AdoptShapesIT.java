/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.Sharding;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;

/**
 * Old databases of three shapes, with rows in all tables: each table has a class in the plan, and after the adoption every row is in the
 * shards, in a reference table, or in a table that the plan says stays. They are the schemas that {@code AdoptionPlannerTest} compares.
 */
@Tag("full")
class AdoptShapesIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;
    private static final Path SCHEMAS = Path.of("../src/operations/src/test/resources/org/shardflake/deploy");
    /** The line that the command prints for each reference table. */
    private static final Pattern FILL = Pattern.compile(
            "psql OLD_URL -c '(?<out>COPY .*? TO STDOUT)' \\| psql HOME_URL (?:-c '(?<set>SET .*?)' )?-c '(?<in>COPY .*? FROM STDIN)'");

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
    }

    @Test
    void aFilmRental() throws Exception {
        assertThat(adopt("rental.sql", "customer.customer_id", """
                        INSERT INTO language (name) SELECT 'language ' || n FROM generate_series(1, 4) n;
                        INSERT INTO film (title, release_year, language_id, rating, special_features, fulltext)
                            SELECT 'film ' || n, 1950 + n, n % 4 + 1, (enum_range(NULL::rating))[n % 3 + 1], ARRAY['a;b', NULL], to_tsvector('film ' || n) FROM generate_series(1, 50) n;
                        INSERT INTO actor (name) SELECT 'actor ' || n FROM generate_series(1, 20) n;
                        INSERT INTO film_actor SELECT n % 20 + 1, n FROM generate_series(1, 50) n;
                        INSERT INTO customer (first_name, email, favourite, home, notes)
                            SELECT ' Ann ' || n, 'Ä' || n || '@x.org', 'it''s R', ROW('a "street"', NULL)::place, NULLIF('note ' || n, 'note 7') FROM generate_series(1, 60) n;
                        INSERT INTO rental (rental_date, film_id, customer_id, return_date, during)
                            SELECT '2026-03-01'::timestamptz + n * interval '1 hour', n % 50 + 1, n % 60 + 1, NULL, '[2026-03-01, 2026-03-05)' FROM generate_series(1, 300) n;
                        INSERT INTO payment (rental_id, amount, payment_date) SELECT n, 4.99, '2026-03-02'::timestamptz + n * interval '1 hour' FROM generate_series(1, 300) n;
                        INSERT INTO refund SELECT payment_id, payment_id, payment_date FROM payment WHERE payment_id % 10 = 0;
                        """)).containsExactly("actor", "film_actor");
    }

    @Test
    void aMusicShop() throws Exception {
        assertThat(adopt("music.sql", "\"Customer\".\"CustomerId\"", """
                        INSERT INTO "Genre" SELECT n, 'genre ' || n FROM generate_series(1, 5) n;
                        INSERT INTO "Artist" SELECT n, NULLIF('artist ' || n, 'artist 3') FROM generate_series(1, 10) n;
                        INSERT INTO "Album" SELECT n, n % 10 + 1 FROM generate_series(1, 20) n;
                        INSERT INTO "Label" SELECT n, n FROM generate_series(1, 3) n;
                        UPDATE "Album" SET "LabelId" = "AlbumId" % 3 + 1;
                        INSERT INTO "Track" SELECT n, n % 20 + 1, 'track ' || n, n % 5 + 1, 0.99 FROM generate_series(1, 100) n;
                        INSERT INTO "Employee" SELECT n, 'name ' || n, NULLIF(n - 1, 0) FROM generate_series(1, 5) n;
                        INSERT INTO "Customer" SELECT n, 'Bob', n || '@x.org', n % 5 + 1 FROM generate_series(1, 59) n;
                        INSERT INTO "Invoice" SELECT n, n % 59 + 1, '2026-01-01', n, 9.90, NULLIF(n - 1, 0) FROM generate_series(1, 200) n;
                        INSERT INTO "InvoiceLine" SELECT n, n % 200 + 1, n % 100 + 1, 2 FROM generate_series(1, 500) n;
                        INSERT INTO "Playlist" SELECT n, n % 59 + 1, 'list ' || n FROM generate_series(1, 80) n;
                        INSERT INTO "PlaylistTrack" SELECT n % 80 + 1, n % 97 + 1 FROM generate_series(1, 400) n ON CONFLICT DO NOTHING;
                        INSERT INTO "Log" SELECT now(), 'line' FROM generate_series(1, 5) n;
                        """)).containsExactly("Log");
    }

    @Test
    void aWholesaler() throws Exception {
        assertThat(adopt("wholesale.sql", "customers.customer_id", """
                        INSERT INTO region SELECT n, 'region ' || n FROM generate_series(1, 4) n;
                        INSERT INTO territories SELECT 't' || n, n % 4 + 1 FROM generate_series(1, 8) n;
                        INSERT INTO categories SELECT n, 'category ' || n, decode(md5(n::text), 'hex') FROM generate_series(1, 6) n;
                        INSERT INTO products SELECT n, 'product ' || n, n % 6 + 1, 1.1 * n, 0 FROM generate_series(1, 40) n;
                        INSERT INTO customers SELECT 'C' || n, 'company ' || n, 'Łódź', NULL FROM generate_series(1, 70) n;
                        INSERT INTO customer_demographics SELECT 'D' || n, 'kind ' || n FROM generate_series(1, 3) n;
                        INSERT INTO customer_customer_demo SELECT 'C' || n, 'D' || n % 3 + 1 FROM generate_series(1, 70) n;
                        INSERT INTO orders SELECT n, 'C' || n % 70 + 1, '2026-02-03', 0.1 * n, 'ship' FROM generate_series(1, 300) n;
                        INSERT INTO order_details SELECT n % 300 + 1, n % 37 + 1, 0.3, 1, 0.05 FROM generate_series(1, 900) n ON CONFLICT DO NOTHING;
                        INSERT INTO returns (order_id, product_id) SELECT order_id, product_id FROM order_details WHERE order_id % 7 = 0;
                        """)).containsExactly("region", "territories");
    }

    /** Plans, deploys, copies, compares and finishes, and returns the tables that stay. */
    private Set<String> adopt(String schema, String key, String rows) throws Exception {
        String begin = "CREATE SCHEMA shop; SET search_path = shop, public;\n";
        installation.execute(OLD, begin + Files.readString(SCHEMAS.resolve(schema)) + "\n" + rows);
        Path file = directory.resolve("adoption.yaml");
        String from = "--from=" + installation.url(OLD);
        launch("adopt", "plan", from, "--key=shop." + key, "--file=" + file);
        AdoptionPlan plan = AdoptionPlanFile.read(file);
        assertThat(plan.tables())
                .extracting(table -> table.name().table())
                .containsExactlyInAnyOrderElementsOf(tables());
        if (plan.changelogs().reference() != null) {
            launch("reference", "deploy", "--changelog=" + directory.resolve("reference.sql"), "--home=db1");
        }
        launch("schema", "deploy", "--changelog=" + directory.resolve("shards.sql"));
        Result copied = launch("adopt", "run", "--plan=" + file, from);
        Matcher fill = FILL.matcher(copied.out());
        while (fill.find()) {
            String set = fill.group("set");
            installation.copy(OLD, fill.group("out"), set == null ? "" : set, fill.group("in"));
        }
        for (AdoptionPlan.Table table : plan.tables()) {
            if (table.goes() == Goes.REFERENCE) {
                awaitCopy(table.target());
            }
        }
        launch("adopt", "verify", "--plan=" + file, from);
        launch("adopt", "run", "--plan=" + file, from, "--finish", "--yes");
        for (AdoptionPlan.Table table : plan.tables()) {
            if (table.goes() != Goes.STAYS) {
                assertThat(arrived(table)).as(table.target()).isNotEmpty().isEqualTo(old(table));
            }
        }
        return plan.tables().stream()
                .filter(table -> table.goes() == Goes.STAYS)
                .map(table -> table.name().table())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private Result launch(String... arguments) {
        Result result = installation.launch(arguments);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(ExitCodes.OK);
        return result;
    }

    private Set<String> tables() throws SQLException {
        return Set.of(installation
                .query(
                        OLD,
                        "SELECT string_agg(relname, E'\\n') FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition")
                .split("\n", -1));
    }

    private void awaitCopy(String table) throws Exception {
        String count = "SELECT count(*) FROM reference.\"%s\"".formatted(table);
        String home = installation.query(0, count);
        assertThat(Poll.everyMillis(20, Duration.ofMinutes(1))
                        .until(() -> installation.query(1, count).equals(home)))
                .as(table)
                .isTrue();
    }

    /** Rows of a table, by the columns that it has in the old database. */
    private List<String> rows(int server, String table, String columns) throws SQLException {
        String rows = installation.query(
                server,
                "SELECT coalesce(string_agg(to_json(q)::text, E'\\n'), '') FROM (SELECT %s FROM %s) q"
                        .formatted(columns, table));
        return rows.isEmpty() ? List.of() : List.of(rows.split("\n", -1));
    }

    private String columns(AdoptionPlan.Table table) throws SQLException {
        return installation.query(
                OLD,
                "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0"
                        .formatted(table.name().sql()));
    }

    private List<String> old(AdoptionPlan.Table table) throws SQLException {
        List<String> rows = new ArrayList<>(rows(OLD, table.name().sql(), columns(table)));
        rows.sort(null);
        return rows;
    }

    private List<String> arrived(AdoptionPlan.Table table) throws SQLException {
        String columns = columns(table);
        String name = ".\"" + table.target() + "\"";
        List<String> rows = new ArrayList<>();
        if (table.goes() == Goes.REFERENCE) {
            rows.addAll(rows(0, "reference" + name, columns));
        } else {
            for (int shard = 0; shard < 8; shard++) {
                rows.addAll(rows(shard / 4, Sharding.schema(shard) + name, columns));
            }
        }
        rows.sort(null);
        return rows;
    }
}
