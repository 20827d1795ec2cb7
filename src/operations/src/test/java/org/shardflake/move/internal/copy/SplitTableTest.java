/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When a table is taken to have its rows in the order of the key. */
class SplitTableTest {

    private static final int KEYS = 256;
    private static final int ROWS = 256_000;

    @Test
    void keysOfARandomOrderAreNot() {
        for (int seed = 0; seed < 300; seed++) {
            List<Long> keys = new ArrayList<>(LongStream.range(0, KEYS).boxed().toList());
            Collections.shuffle(keys, new Random(seed));

            assertThat(SplitTable.isInOrder(keys)).as("seed %s", seed).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1", "2, 2", "2, 3", "2, 6", "2, 12", "2, 24", "2, 100", "4, 4", "4, 8", "4, 24", "4, 100", "8, 8", "8, 16",
        "8, 64", "8, 500", "16, 16", "16, 20", "16, 500", "32, 32", "32, 40", "32, 500"
    })
    void keysOfATableThatWasCopiedInPartsAre(int connections, int parts) {
        for (int seed = 0; seed < 20; seed++) {
            List<Long> table = copied(connections, parts, new Random(seed));
            List<Long> keys = new ArrayList<>();
            for (int i = 1; i < KEYS; i++) {
                keys.add(table.get(table.size() / KEYS * i));
            }

            assertThat(SplitTable.isInOrder(keys)).as("seed %s", seed).isTrue();
        }
    }

    /** Each connection takes the next part when it is done, and adds a row at its turn, which comes by chance. */
    private static List<Long> copied(int connections, int parts, Random random) {
        List<Long> table = new ArrayList<>();
        int size = ROWS / parts;
        int begun = connections;
        int[] part = new int[connections];
        int[] row = new int[connections];
        for (int i = 0; i < connections; i++) {
            part[i] = i;
        }
        while (table.size() < size * parts) {
            int turn = random.nextInt(connections);
            if (part[turn] < parts) {
                table.add((long) part[turn] * size + row[turn]++);
                if (row[turn] == size) {
                    part[turn] = begun++;
                    row[turn] = 0;
                }
            }
        }
        return table;
    }
}
