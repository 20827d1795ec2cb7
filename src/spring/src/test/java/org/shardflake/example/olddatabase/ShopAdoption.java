/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.postgresql.PGConnection;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlan.Ids;
import org.shardflake.adoption.AdoptionPlan.Table;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.adoption.PlanFiles;
import org.shardflake.adoption.ReferredFirst;
import org.shardflake.assess.Assessment;
import org.shardflake.assess.Assessor;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.lookup.BackfillSettings;
import org.shardflake.lookup.LookupPlan;
import org.shardflake.lookup.LookupTables;
import org.shardflake.server.ServerUrl;

/** The steps of the adoption, by the Java API that the commands of {@code adopt} call. */
final class ShopAdoption {

    /** A statement of each kind. */
    private static final String STATEMENTS = """
            SELECT name FROM users WHERE id = $1;
            SELECT id, lines FROM orders WHERE user_id = $1;
            UPDATE orders SET lines = lines + 1 WHERE id = $1 AND user_id = $2;
            SELECT user_id FROM logins WHERE email = $1;
            """;

    private static final int FEW_ROWS = 10;

    private final PostgresExtension postgres;
    private final OldShop old;
    private final Path directory;
    private final Path file;
    private AdoptionPlan plan;

    ShopAdoption(PostgresExtension postgres, OldShop old, Path directory) {
        this.postgres = postgres;
        this.old = old;
        this.directory = directory;
        this.file = directory.resolve("adoption.yaml");
    }

    Assessment assess() {
        return Assessor.assess(old.url(), null, STATEMENTS);
    }

    /** Plans, and has the logins stay: they lead to the key, and are asked for without it. */
    AdoptionPlan plan() throws IOException {
        AdoptionPlan proposed = files(false).plan(old.url(), null, STATEMENTS).plan();
        List<Table> tables = proposed.tables().stream()
                .map(table -> table.name().table().equals("logins")
                        ? new Table(table.name(), Goes.STAYS, null, null, List.of(), null, Ids.KEPT)
                        : table)
                .toList();
        List<AdoptionPlan.Lookup> lookups = proposed.lookups().stream()
                .filter(lookup -> !lookup.table().table().equals("logins"))
                .toList();
        Files.writeString(
                file,
                AdoptionPlanFile.format(new AdoptionPlan(
                        proposed.source(),
                        proposed.key(),
                        tables,
                        lookups,
                        proposed.changelogs(),
                        proposed.leftOut())));
        plan = files(true).plan(old.url(), null, STATEMENTS).plan();
        return plan;
    }

    private PlanFiles files(boolean mayRewrite) {
        return new PlanFiles(file, directory, mayRewrite);
    }

    private ServerUrl catalog() {
        return url(0);
    }

    private ServerUrl url(int server) {
        return ServerUrl.parse(postgres.database(server).uri());
    }

    Connection connect(int shard) throws SQLException {
        return postgres.database(shard % 2).connect();
    }

    /** Creates the shards with the changelogs of the plan, and fills the reference tables. */
    void createShards() throws Exception {
        Installation installation = Installation.at(catalog());
        ShardMap map = ShardMap.initial(
                new Sharding(OldShop.SHARDS),
                IdLayout.DEFAULT,
                List.of(
                        new Server("db1", postgres.database(0).uri()),
                        new Server("db2", postgres.database(1).uri())),
                Spread.ROUND_ROBIN);
        installation.create(map, "for the shop");
        DeploySettings settings = DeploySettings.defaults(directory);
        installation.referenceTables(map).deploy(directory.resolve("reference.sql"), settings, map.layout(), "db1");
        assertThat(installation
                        .deploy(directory.resolve("shards.sql"), settings, done -> {})
                        .failures())
                .isEmpty();
        List<Table> references = plan.tables().stream()
                .filter(table -> table.goes() == Goes.REFERENCE)
                .toList();
        for (ReferredFirst.Placed one : ReferredFirst.sorted(references, old.url())) {
            copy(one.table());
        }
        for (Table table : references) {
            String wanted = rows(old.connect(), table.name().sql());
            for (int server = 0; server < 2; server++) {
                TestDatabase its = postgres.database(server);
                assertThat(Poll.everyMillis(20, Duration.ofMinutes(1))
                                .until(() -> rows(its.connect(), "reference." + table.target())
                                        .equals(wanted)))
                        .isTrue();
            }
        }
    }

    /** The number of rows, and a digest of them as text. */
    private static String rows(Connection connection, String table) throws SQLException {
        try (connection) {
            return Sql.text(
                    connection,
                    "SELECT count(*) || ' ' || md5(string_agg(t::text, ',' ORDER BY t::text)) FROM " + table + " t");
        }
    }

    private void copy(Table table) throws SQLException, IOException {
        StringWriter rows = new StringWriter();
        try (Connection from = old.connect();
                Connection home = postgres.database(0).connect()) {
            from.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyOut("COPY %s TO STDOUT".formatted(table.name().sql()), rows);
            home.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn(
                            "COPY reference.%s FROM STDIN".formatted(table.target()),
                            new StringReader(rows.toString()));
        }
    }

    /** Begins to copy rows, and ends as a command that is killed after the first ones. */
    void beginToCopy() {
        AdoptListener killing = new AdoptListener() {
            @Override
            public void copied(long rows, long estimate) {
                throw new IllegalStateException("killed");
            }
        };
        assertThatThrownBy(() -> adopt(FEW_ROWS, killing, DatabaseAdopter::run)).hasStackTraceContaining("killed");
        assertThatThrownBy(() -> adopt(DatabaseAdopter::verify)).hasMessageContaining("still to be copied");
    }

    /** Does a step of the adoption, as a command of its own would. */
    <T> T adopt(Function<DatabaseAdopter, T> step) {
        return adopt(DatabaseSettings.DEFAULT_BATCH_ROWS, AdoptListener.NONE, step);
    }

    private <T> T adopt(int batchRows, AdoptListener listener, Function<DatabaseAdopter, T> step) {
        ShardMap map = ShardCatalog.at(catalog()).load();
        try (DatabaseAdopter adopter = DatabaseAdopter.open(
                DatabaseSettings.of(plan, batchRows, DatabaseSettings.DEFAULT_WORKERS, 0),
                old.url(),
                catalog(),
                map,
                server -> ServerUrl.parse(server.url()),
                listener)) {
            return step.apply(adopter);
        }
    }

    /** Creates and fills the lookups of the plan. */
    void fillLookups() throws InterruptedException {
        LookupTables lookups = new LookupTables(catalog(), server -> ServerUrl.parse(server.url()));
        for (AdoptionPlan.Lookup lookup : plan.lookups()) {
            Table table = plan.table(lookup.table()).orElseThrow();
            lookups.create(new LookupPlan(
                    lookup.name(),
                    lookup.isUnique(),
                    false,
                    false,
                    Optional.of(new LookupDefinition.Source(
                            table.target(), lookup.columns().get(0), Objects.requireNonNull(table.shardKey()), "id"))));
            assertThat(lookups.backfill(lookup.name(), BackfillSettings.DEFAULT, done -> {})
                            .isComplete())
                    .isTrue();
        }
    }
}
