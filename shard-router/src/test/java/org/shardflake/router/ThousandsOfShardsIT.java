/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The same with as many shards as an installation has unless told otherwise. */
@Tag("full")
class ThousandsOfShardsIT extends ShardRouterIT {

    @Test
    void putsAHundredThousandUidsInTheirPlace() throws SQLException {
        putsInTheirPlace(100_000);
    }

    @Test
    void movesSixtyShardsUnderLoadWithoutAFailureOrAWriteInTheWrongPlace() throws Exception {
        movesUnderLoad(60);
    }
}
