/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jackson;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardflakeId;

/** What both Jacksons make of ids. */
interface IdsInJsonContract {

    ShardflakeId ID = ShardflakeId.of(499335931086511104L);

    String write(Object value) throws Exception;

    /** As {@link #write}, by a mapper that was told to look for modules. */
    String writeByFoundModule(Object value) throws Exception;

    <T> T read(String json, Class<T> type) throws Exception;

    /** As {@link #read}, by way of a tree, which has no tokens of its own text. */
    <T> T readFromTree(String json, Class<T> type) throws Exception;

    record Album(ShardflakeId id, @Nullable ShardflakeId cover, List<ShardflakeId> photos) {}

    record Titles(Map<ShardflakeId, String> titles) {}

    @Test
    default void idIsAStringEverywhere() throws Exception {
        Album album = new Album(ID, null, List.of(ShardflakeId.of(7), ShardflakeId.of(-1)));
        String json = "{\"id\":\"499335931086511104\",\"cover\":null,\"photos\":[\"7\",\"-1\"]}";

        assertThat(write(album)).isEqualTo(json);
        assertThat(read(json, Album.class)).isEqualTo(album);
    }

    @Test
    default void keysOfMapsAreIdsToo() throws Exception {
        Titles titles = new Titles(Map.of(ID, "harbour"));
        String json = "{\"titles\":{\"499335931086511104\":\"harbour\"}}";

        assertThat(write(titles)).isEqualTo(json);
        assertThat(read(json, Titles.class)).isEqualTo(titles);
    }

    @Test
    default void mapperThatLooksForModulesFindsIt() throws Exception {
        assertThat(writeByFoundModule(ID)).isEqualTo("\"499335931086511104\"");
    }

    @Test
    default void idsAreReadFromATree() throws Exception {
        assertThat(readFromTree("[\"499335931086511104\", 7]", ShardflakeId[].class))
                .containsExactly(ID, ShardflakeId.of(7));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 7, -7, (1L << 53) - 1, 1 - (1L << 53)})
    default void numbersThatAllReadAlikeAreIds(long number) throws Exception {
        assertThat(read(Long.toString(number), ShardflakeId.class)).isEqualTo(ShardflakeId.of(number));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "9007199254740992        | beyond 2^53 a number may have been rounded: send the id as a string",
                "-9007199254740992       | beyond 2^53 a number may have been rounded: send the id as a string",
                "499335931086511100      | beyond 2^53 a number may have been rounded: send the id as a string",
                "99999999999999999999999 | beyond 2^53 a number may have been rounded: send the id as a string",
                "7.0                     | an id is a whole number, in a string",
                "7e0                     | an id is a whole number, in a string",
                "\"\"                    | \"\" is not an id: it is empty",
                "\"7.0\"                 | \"7.0\" is not an id: character 2 is not a digit",
                "\"100%s\"               | \"100%s\" is not an id: character 4 is not a digit",
                "true                    | Cannot deserialize value of type `org.shardflake.ShardflakeId` from Boolean value",
                "{}                      | Cannot deserialize value of type `org.shardflake.ShardflakeId` from Object value",
                "{\"titles\":{\"x\":\"harbour\"}} | \"x\" is not an id: character 1 is not a digit"
            })
    default void refusesWhatIsNoIdForSure(String json, String reason) {
        Class<?> type = json.contains("titles") ? Titles.class : ShardflakeId.class;
        assertThatThrownBy(() -> read(json, type))
                .satisfies(e -> assertThat(e.getClass().getSimpleName())
                        .isIn("InvalidFormatException", "MismatchedInputException"))
                .hasMessageContaining(reason);
    }
}
