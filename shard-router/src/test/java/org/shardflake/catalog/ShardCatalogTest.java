/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardOutOfRangeException;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.UnknownServerException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;

class ShardCatalogTest {

    private static final Server DB1 =
            new Server("db1", "postgresql://app@db1/app", Map.of("zone", "a", "disk", "7 TB"));
    private static final Server DB2 = new Server("db2", "postgresql://app@db2/app");
    private static final Server DB3 = new Server("db3", "postgresql://app@db3/app");
    private static final ShardMap FIRST =
            ShardMap.initial(new Sharding(2000), IdLayout.DEFAULT, List.of(DB1, DB2), Spread.ROUND_ROBIN);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private ShardCatalog catalog;

    @BeforeEach
    void deploy() throws SQLException {
        catalog = ShardCatalog.at(ServerUrl.parse(postgres.database(0).uri()));
        try (Connection connection = postgres.database(0).connect()) {
            CatalogSchema.deploy(connection);
        }
        catalog.initialize(FIRST, "a beginning");
    }

    @AfterEach
    void drop() throws SQLException {
        execute("DROP SCHEMA IF EXISTS shardflake_catalog CASCADE");
    }

    @Test
    void loadsWhatWasWritten() {
        assertThat(catalog.load()).isEqualTo(FIRST);
        assertThat(catalog.version()).isEqualTo(1);
    }

    @Test
    void isInitializedOnce() {
        assertThatExceptionOfType(CatalogConflictException.class)
                .isThrownBy(() -> catalog.initialize(FIRST, "again"))
                .withMessageContaining("has a shard map already, and its shard count and epoch never change");
    }

    @Test
    void addsChangesAndRemovesServers() {
        assertThat(catalog.addServer(DB3, "more room").servers()).containsExactly(DB1, DB2, DB3);

        Server elsewhere = new Server("db3", "postgresql://app@standby3/app", Map.of("zone", "b"));
        assertThat(catalog.changeServer(elsewhere, "failover").server("db3")).isEqualTo(elsewhere);

        ShardMap map = catalog.removeServer("db3", "not needed");
        assertThat(map.servers()).containsExactly(DB1, DB2);
        assertThat(map.version()).isEqualTo(4);
    }

    @Test
    void keepsTheUrlForApplications() {
        Server pooled = new Server("db3", DB3.url(), Optional.of("postgresql://app@pooler/db3"), Map.of("zone", "a"));

        assertThat(catalog.addServer(DB3, "more room").server("db3")).isEqualTo(DB3);
        assertThat(catalog.changeServer(pooled, "a pooler").server("db3")).isEqualTo(pooled);
        assertThat(catalog.load().server("db3")).isEqualTo(pooled);
        assertThat(catalog.changeServer(DB3, "no pooler").server("db3")).isEqualTo(DB3);
    }

    @Test
    void refusesTwoServersThatApplicationsReachByOneUrl() {
        Optional<String> pooler = Optional.of("postgresql://app@pooler/app");
        catalog.changeServer(new Server("db1", DB1.url(), pooler, Map.of()), "");

        assertThatExceptionOfType(CatalogRuleException.class)
                .isThrownBy(() -> catalog.changeServer(new Server("db2", DB2.url(), pooler, Map.of()), ""));
    }

    @Test
    void theCatalogKeepsNoPasswordOfAPooler() {
        assertThatThrownBy(
                        () -> execute(
                                "UPDATE shardflake_catalog.server SET application_url = 'postgresql://app:s3cret@pooler/app' WHERE name = 'db1'"))
                .hasMessageContaining("application_url_holds_no_password");
    }

    @Test
    void readsAndChangesAnOlderCatalogThatKeepsNoUrlsForApplications() throws SQLException {
        execute("ALTER TABLE shardflake_catalog.server DROP COLUMN application_url");

        assertThat(catalog.load()).isEqualTo(FIRST);
        assertThat(catalog.addServer(DB3, "more room").servers()).containsExactly(DB1, DB2, DB3);
        Server pooled = new Server("db3", DB3.url(), Optional.of("postgresql://app@pooler/db3"), Map.of());
        assertThatThrownBy(() -> catalog.changeServer(pooled, "a pooler"))
                .hasMessage("the catalog is of an older version, which keeps no application URL, as server db3 has");
    }

    @Test
    void keepsAServerThatHasShards() {
        assertThatExceptionOfType(CatalogRuleException.class)
                .isThrownBy(() -> catalog.removeServer("db2", "why not"))
                .withMessageContaining("refused the change: update or delete on table")
                .withMessageNotContaining("Detail");
        assertThat(catalog.load()).isEqualTo(FIRST);
    }

    @Test
    void placesShards() {
        ShardMap map = catalog.place(ShardSet.parse("0-3,1341"), "db1", "db2 is full");

        assertThat(map.version()).isEqualTo(2);
        assertThat(map.server(1)).isEqualTo(DB1);
        assertThat(map.placement(1).epoch()).isEqualTo(2);
        assertThat(map.placement(2).epoch()).isEqualTo(1);
        assertThat(map.shards(DB2).size()).isEqualTo(997);
        assertThat(catalog.history(3))
                .extracting(MapChange::shard)
                .extracting(OptionalInt::getAsInt)
                .containsExactly(1341, 3, 1);
        MapChange change = catalog.history(1).get(0);
        assertThat(change.version()).isEqualTo(2);
        assertThat(change.change()).isEqualTo("shard placed");
        assertThat(change.server()).contains("db1");
        assertThat(change.fromServer()).contains("db2");
        assertThat(change.epoch()).isEqualTo(OptionalLong.of(2));
        assertThat(change.reason()).isEqualTo("db2 is full");
    }

    @Test
    void placesAShardOnlyIfItsEpochIsStillTheSame() {
        catalog.place(7, 1, "db1", "a move");

        assertThatExceptionOfType(CatalogConflictException.class)
                .isThrownBy(() -> catalog.place(7, 1, "db2", "a zombie"))
                .withMessageContaining("shard 7")
                .withMessageContaining("its epoch is no longer 1");
        assertThat(catalog.load().server(7)).isEqualTo(DB1);
    }

    @Test
    void refusesServersAndShardsThatAreNotThere() {
        assertThatExceptionOfType(UnknownServerException.class)
                .isThrownBy(() -> catalog.place(ShardSet.of(1), "db9", "typo"))
                .withMessageContaining("its servers are db1, db2");
        assertThatExceptionOfType(UnknownServerException.class).isThrownBy(() -> catalog.removeServer("db9", "typo"));
        assertThatExceptionOfType(ShardOutOfRangeException.class)
                .isThrownBy(() -> catalog.place(ShardSet.of(1, 2000), "db1", "typo"));
        assertThat(catalog.load()).isEqualTo(FIRST);
    }

    @Test
    void importsAnEditedExportInOneVersion() {
        String exported = ShardMapFile.format(catalog.load());
        String edited = exported.replace(
                "shards: 1-1999/2", "shards: 1-1997/2\n  db3:\n    url: postgresql://db3/app\n    shards: '1999'");

        ShardMap map = catalog.importMap(ShardMapFile.parse(edited), "by hand");

        assertThat(map.server(1999).name()).isEqualTo("db3");
        assertThat(map.placement(1999).epoch()).isEqualTo(2);
        assertThat(map.shards(DB2).size()).isEqualTo(999);
        assertThat(catalog.load()).isEqualTo(map);
    }

    @Test
    void importsAMapWithoutAServerWhoseShardsWentElsewhere() {
        ShardMap all = ShardMap.of(
                1, FIRST.sharding(), FIRST.layout(), List.of(DB1), shard -> new ShardPlacement(shard, DB1, 1));

        assertThat(catalog.importMap(all, "one is enough").servers()).containsExactly(DB1);
    }

    @Test
    void importsSwappedUrlsAndARenamedServerInOneVersion() {
        String swapped = ShardMapFile.format(catalog.load())
                .replace("@db1/", "@x/")
                .replace("@db2/", "@db1/")
                .replace("@x/", "@db2/");
        ShardMap map = catalog.importMap(ShardMapFile.parse(swapped), "swapped hosts");
        assertThat(map.server("db1").url()).isEqualTo(DB2.url());
        assertThat(map.version()).isEqualTo(2);

        String renamed = ShardMapFile.format(map).replace("  db2:", "  other:");
        map = catalog.importMap(ShardMapFile.parse(renamed), "renamed");
        assertThat(map.shards(map.server("other")).size()).isEqualTo(1000);
        assertThat(map.version()).isEqualTo(3);
    }

    @Test
    void importsNoEpochsOfOnesOwn() {
        String edited = ShardMapFile.format(catalog.load()) + "epochs:\n  5: '7'\n";

        assertThatExceptionOfType(CatalogConflictException.class)
                .isThrownBy(() -> catalog.importMap(ShardMapFile.parse(edited), "by hand"))
                .withMessage(
                        "the map to import has epoch 5 of shard 7, but the catalog has 1; leave epochs as they were exported");
    }

    @Test
    void importsNothingWhenTheCatalogHasMovedOn() {
        ShardMap exported = catalog.load();
        catalog.addServer(DB3, "meanwhile");

        assertThatExceptionOfType(CatalogConflictException.class)
                .isThrownBy(() -> catalog.importMap(exported, "too late"))
                .withMessageContaining("is based on version 1, but")
                .withMessageContaining("is at version 2; export again and repeat the edit");
    }

    @Test
    void importsNothingOfAnotherInstallation() {
        ShardMap other = ShardMap.initial(new Sharding(1000), IdLayout.DEFAULT, List.of(DB1, DB2), Spread.ROUND_ROBIN);

        assertThatExceptionOfType(CatalogConflictException.class)
                .isThrownBy(() -> catalog.importMap(other, "wrong file"))
                .withMessageContaining("has 1000 shards")
                .withMessageContaining("which never change");
        assertThat(catalog.load()).isEqualTo(FIRST);
    }

    @Test
    void importsIntoAnEmptyCatalogWithEpochs() throws SQLException {
        ShardMap lost = catalog.place(ShardSet.of(7), "db1", "a move");
        drop();
        try (Connection connection = postgres.database(0).connect()) {
            CatalogSchema.deploy(connection);
        }

        ShardMap restored = catalog.importMap(lost, "the catalog was lost");

        assertThat(restored.placement(7)).isEqualTo(lost.placement(7));
    }

    @Test
    void saysWhatIsMissing() throws SQLException {
        drop();
        assertThatExceptionOfType(CatalogMissingException.class)
                .isThrownBy(() -> catalog.load())
                .withMessageContaining("has no schema shardflake_catalog");
        try (Connection connection = postgres.database(0).connect()) {
            CatalogSchema.deploy(connection);
        }
        assertThatExceptionOfType(CatalogMissingException.class)
                .isThrownBy(() -> catalog.version())
                .withMessage("the catalog has no shard map yet");
    }

    @Test
    void saysThatItCannotBeReachedWithoutAPassword() {
        ShardCatalog nowhere = ShardCatalog.at(ServerUrl.parse("postgresql://app:s3cret@127.0.0.1:1/app"));

        assertThatExceptionOfType(CatalogUnavailableException.class)
                .isThrownBy(nowhere::load)
                .withMessageStartingWith("cannot connect to catalog postgresql://app@127.0.0.1:1/app: ")
                .withMessageNotContaining("s3cret")
                .satisfies(e -> assertThat(e.hint().orElseThrow()).startsWith("check host and port"));
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
