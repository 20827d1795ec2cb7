/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.Sharding;

class ShardMapFileTest {

    private static final Server DB1 = new Server("db1", "postgresql://app@db1/app", Map.of("zone", "a", "rack", "7"));
    private static final Server DB2 =
            new Server("db2", "postgresql://app@db2/app", Optional.of("postgresql://app@pooler/db2"), Map.of());

    private static final ShardMap MAP = ShardMap.of(
            17,
            new Sharding(6),
            IdLayout.DEFAULT,
            List.of(DB1, DB2),
            shard -> new ShardPlacement(shard, shard % 2 == 0 ? DB1 : DB2, shard == 4 ? 3 : 1));

    private static final String TEXT = """
            version: 17
            shardCount: 6
            epochMillis: 1735689600000
            servers:
              db1:
                url: postgresql://app@db1/app
                labels:
                  rack: '7'
                  zone: a
                shards: 0-4/2
              db2:
                url: postgresql://app@db2/app
                applicationUrl: postgresql://app@pooler/db2
                shards: 1-5/2
            epochs:
              3: '4'
            """;

    @Test
    void writesAMapForPeople() {
        assertThat(ShardMapFile.format(MAP)).isEqualTo(TEXT);
    }

    @Test
    void readsBackWhatItWrites(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("map.yaml");
        Files.writeString(file, "something older");

        ShardMapFile.write(MAP, file);

        assertThat(ShardMapFile.read(file)).isEqualTo(MAP);
        assertThat(directory).isDirectoryContaining(path -> path.equals(file));
        try (var files = Files.list(directory)) {
            assertThat(files).containsExactly(file);
        }
    }

    @Test
    void readsTheLeastAndJson() {
        ShardMap map = ShardMapFile.parse("""
                {"shardCount": 2, "epochMillis": 0, "servers": {"db1": {"url": "postgresql://db1/app", "shards": "0,1"}}}
                """);

        assertThat(map.version()).isEqualTo(1);
        assertThat(map.shards(map.server("db1"))).hasToString("0,1");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "shards: 0-4/2       | shards: 0-4           | shard 1 is on db1 and on db2; every shard has one server",
                "shards: 1-5/2       | shards: '1'           | shards 3,5 have no server; every shard has one",
                "shards: 1-5/2       | shards: 1-7/2         | shards of db2 names shard 7, which is out of range 0..5",
                "shards: 1-5/2       | shards: odd           | \"odd\" is not a list of shards; write it as 7, 0-99 or 0-1998/2, separated by commas",
                "shards: 1-5/2       | shard: 1              | db2 has an unknown property shard; known are url, applicationUrl, labels, shards",
                "shardCount: 6       | shardCount: many      | shardCount of the file is many, not a number in 0..2147483647",
                "shardCount: 6       | shardCount: 0         | shard count 0 is out of range 1..8192",
                "shardCount: 6       | count: 6              | the file has an unknown property count; known are version, shardCount, epochMillis, servers, epochs",
                "epochMillis: 1735689600000 | version: 18    | it is not YAML",
                "app@db2/app         | app:pw@db2/app        | the URL of server db2 holds a password; the shard map is read by many, so leave it out and give it in ~/.pgpass",
                "app@db2/app         | app@db1/app           | servers db1 and db2 have the same URL postgresql://app@db1/app",
                "3: '4'              | x: '4'                | an epoch is x, not a number in 0..9223372036854775807",
            })
    void refusesAnImpossibleMap(String right, String wrong, String reason) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardMapFile.parse(TEXT.replace(right, wrong)))
                .withMessageStartingWith(reason);
    }

    @Test
    void refusesWhatIsNoYaml() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardMapFile.parse("servers: ["))
                .withMessageStartingWith("it is not YAML");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardMapFile.parse(""))
                .withMessage("the file must be a mapping of names to values");
    }
}
