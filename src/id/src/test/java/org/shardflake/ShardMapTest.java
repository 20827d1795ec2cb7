/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShardMapTest {

    private static final Server DB1 = new Server("db1", "postgresql://db1/app");
    private static final Server DB2 = new Server("db2", "postgresql://db2/app");
    private static final Server DB3 = new Server("db3", "postgresql://db3/app");

    @Test
    void laysShardsOutInRanges() {
        ShardMap map = initial(2000, Spread.CONTIGUOUS, DB1, DB2, DB3);

        assertThat(map.shards(DB1)).hasToString("0-666");
        assertThat(map.shards(DB2)).hasToString("667-1333");
        assertThat(map.shards(DB3)).hasToString("1334-1999");
    }

    @Test
    void laysShardsOutInTurn() {
        ShardMap map = initial(2000, Spread.ROUND_ROBIN, DB1, DB2);

        assertThat(map.shards(DB1)).hasToString("0-1998/2");
        assertThat(map.shards(DB2)).hasToString("1-1999/2");
    }

    @Test
    void leavesServersWithoutShardsWhenThereAreMoreOfThem() {
        ShardMap map = initial(2, Spread.CONTIGUOUS, DB1, DB2, DB3);

        assertThat(map.servers()).containsExactly(DB1, DB2, DB3);
        assertThat(map.servers().stream()
                        .mapToInt(server -> map.shards(server).size())
                        .sum())
                .isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({"7,7", "2007,7", "-1,1999", "-2000,0", "9223372036854775807,1807", "-9223372036854775808,192"})
    void findsTheShardOfAUid(long uid, int shard) {
        ShardMap map = initial(2000, Spread.ROUND_ROBIN, DB1, DB2);

        assertThat(map.shardOfUid(uid)).isEqualTo(shard);
        assertThat(map.shard(ShardKey.uid(uid))).isEqualTo(shard);
    }

    @Test
    void readsTheShardOutOfAnId() {
        ShardMap map = initial(2000, Spread.ROUND_ROBIN, DB1, DB2);
        long id = 11637205501278089L;

        assertThat(map.shard(ShardKey.id(id))).isEqualTo(1341);
        assertThat(map.placement(map.shardOfId(id))).isEqualTo(new ShardPlacement(1341, DB2, 1));
    }

    @Test
    void refusesAnIdOfAShardThatIsNotThere() {
        ShardMap map = initial(1000, Spread.ROUND_ROBIN, DB1);

        assertThatExceptionOfType(ShardOutOfRangeException.class)
                .isThrownBy(() -> map.shardOfId(11637205501278089L))
                .withMessage(
                        "id 11637205501278089 is of shard 1341, which is out of range 0..999, so it was not made here; if it is a shard key, use it as a uid")
                .satisfies(e -> assertThat(e.shard()).isEqualTo(1341))
                .satisfies(e -> assertThat(e.shardCount()).isEqualTo(1000));
    }

    @ParameterizedTest
    @ValueSource(ints = {1000, 8191})
    void refusesAShardThatIsNotThere(int shard) {
        ShardMap map = initial(1000, Spread.ROUND_ROBIN, DB1);

        assertThatExceptionOfType(ShardOutOfRangeException.class)
                .isThrownBy(() -> map.shard(ShardKey.shard(shard)))
                .withMessage("shard %s is out of range 0..999".formatted(shard));
    }

    @Test
    void namesTheServersItHasWhenAskedForAnother() {
        assertThatExceptionOfType(UnknownServerException.class)
                .isThrownBy(() -> initial(10, Spread.ROUND_ROBIN, DB1, DB2).server("db9"))
                .withMessage("there is no server \"db9\" in the shard map; its servers are db1, db2");
    }

    @Test
    void refusesAPlacementOnAServerItDoesNotHave() {
        assertThatExceptionOfType(UnknownServerException.class)
                .isThrownBy(() -> ShardMap.of(
                        1,
                        new Sharding(2),
                        IdLayout.DEFAULT,
                        List.of(DB1),
                        shard -> new ShardPlacement(shard, DB2, 1)));
    }

    @Test
    void refusesTwoServersOfOneNameOrOneUrl() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> initial(2, Spread.CONTIGUOUS, DB1, new Server("db1", "postgresql://other/app")))
                .withMessage("server db1 appears twice");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> initial(2, Spread.CONTIGUOUS, DB1, new Server("db9", DB1.url())))
                .withMessage("servers db1 and db9 have the same URL postgresql://db1/app");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> initial(2, Spread.CONTIGUOUS, DB1, pooled("db9", DB1.url())))
                .withMessage("servers db1 and db9 have the same URL postgresql://db1/app");
        String pooler = "postgresql://pooler/app";
        assertThatIllegalArgumentException()
                .isThrownBy(() -> initial(2, Spread.CONTIGUOUS, pooled("db8", pooler), pooled("db9", pooler)))
                .withMessage("servers db8 and db9 have the same URL postgresql://pooler/app");
    }

    private static Server pooled(String name, String applicationUrl) {
        return new Server(name, "postgresql://" + name + "/app", Optional.of(applicationUrl), Map.of());
    }

    @Test
    void routersConnectToTheUrlForApplicationsIfThereIsOne() {
        assertThat(pooled("db1", "postgresql://pooler/app").routerUrl()).isEqualTo("postgresql://pooler/app");
        assertThat(DB1.routerUrl()).isEqualTo(DB1.url());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "postgresql://ann:s3cret@db1/app",
                "postgresql://db1/app?password=s3cret",
                "postgresql://db1/app?sslmode=require&PASSWORD=s3cret",
                "postgresql://db1/app?sslpassword=s3cret",
                "postgresql://db1/app?p%61ssword=s3cret"
            })
    void refusesAServerUrlWithAPasswordWithoutRepeatingIt(String url) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Server("db1", url))
                .withMessageContaining("holds a password")
                .withMessageNotContaining("s3cret");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> pooled("db1", url))
                .withMessageContaining("the application URL of server db1 holds a password")
                .withMessageNotContaining("s3cret");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"postgresql://ann@h1:5432,h2:5433/app?x=y", "postgresql://[::1]:5432/app", "postgresql://h/a"})
    void takesAServerUrlWithoutPassword(String url) {
        assertThat(new Server("db1", url, Map.of("zone", "a")).url()).isEqualTo(url);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "DB1", "-db", "db-", "d b", "db/1"})
    void refusesAnUnusableServerName(String name) {
        assertThatIllegalArgumentException().isThrownBy(() -> new Server(name, "postgresql://db1/app"));
    }

    private static ShardMap initial(int shards, Spread spread, Server... servers) {
        return ShardMap.initial(new Sharding(shards), IdLayout.DEFAULT, List.of(servers), spread);
    }
}
