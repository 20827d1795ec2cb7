/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.yaml.YamlNode;

class AdoptionPlanFileTest {

    private static final String SHOP = """
            # yaml-language-server: $schema=adoption.schema.json
            version: 1
            source:
              database: app
              schemas: [public, Sales]
            key: {table: users, column: id}
            tables:
              users: {goes: shards, key: id, id: next_id}
              '"Sales"."Orders"': {goes: shards, into: orders, key: '"userId"', id: next_id}
              item:
                goes: shards
                path:
                - columns: [order_id, '"orderLine"']
                  to: '"Sales"."Orders"'
                  toColumns: [id, line]
                add: user_id
                id: kept
              refund:
                goes: shards
                path:
                - columns: [item]
                  to: item
                  toColumns: [id]
                - columns: [order_id, '"orderLine"']
                  to: '"Sales"."Orders"'
                  toColumns: [id, line]
                add: user_id
                id: next_id
              country: {goes: reference}
              job: {goes: stays}
            lookups:
              users.email:
                table: users
                columns: [email]
                unique: true
            changelogs: {shards: shards.sql, reference: reference.sql}
            leftOut:
            - {table: item, problem: foreign key a, remedy: drop it}
            - {problem: 'views: b', remedy: write them}
            """;

    /** A schema cannot know which tables there are. */
    private static final Pattern TABLES =
            Pattern.compile("which does not go into the shards;|which is not among the tables");

    @Test
    void aPlanIsWrittenAsItWasRead() {
        AdoptionPlan shop = AdoptionPlanFile.parse(SHOP);

        assertThat(AdoptionPlanFile.format(shop)).isEqualTo(SHOP);
        assertThat(AdoptionPlanFile.parse(AdoptionPlanFile.format(shop))).isEqualTo(shop);
        assertThat(shop.table(new TableName("Sales", "Orders")).orElseThrow().key())
                .isEqualTo("userId");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            goes: stays}         | goes: stay}          | line 30: tables: job: goes is stay, not one of shards, reference, stays
            unique: true         | unique: 1            | line 35: lookups: users.email: unique is 1, not one of true, false
            {goes: reference}    | {goes: reference, key: code} | line 29: tables: country does not go into the shards, and has a key, a path or ids there; remove those
            toColumns: [id]      | toColumns: [id, line] | line 21: tables: refund: path: 1: columns has 1 for 2 columns of item; give as many, in the same order
            - columns: [item]    | - column: [item]     | line 21: tables: refund: path: 1: column is not known; known here are columns, to, toColumns
            into: orders         | into: users          | line 9: tables: "Sales"."Orders": into gives the name users, which users has, too; give one of them another, by into: NAME
            into: orders         | into: orders_ééééééééééééééééééééééééééééé | line 9: tables: "Sales"."Orders": into is wrong: orders_ééééééééééééééééééééééééééééé has more than 63 bytes, after which PostgreSQL cuts names; write a shorter one
            job:                 | Job:                 | line 30: tables: Job is wrong: Job is not the name of a table; write it as in SQL, such as orders, app.orders or "Orders"
            version: 1           | version: 2           | line 2: version is 2, and this shardflake reads 1
            column: id}          | column: uid}         | line 6: key: table is users, which is not among the tables by key uid; name the table with the key there, or leave table out
            database: app        | databse: app         | line 4: source: databse is not known; known here are database, schemas
            to: item             | to: job              | line 22: tables: refund: path: 1: to is job, which does not go into the shards; choose another path, or let that table go into the shards
            """)
    void aMistakeIsNamedWithItsLine(String right, String wrong, String message) {
        assertThat(SHOP).contains(right);

        assertThatThrownBy(() -> AdoptionPlanFile.parse(SHOP.replaceFirst(Pattern.quote(right), wrong)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    /** Changes each part of a plan in every way that its schema could miss. */
    @Test
    void theSchemaForEditorsAcceptsWhatTheReaderAccepts() {
        JsonSchema schema = new JsonSchema(AdoptionPlanFile.schema());
        List<Object> changed = new ArrayList<>();
        changes(Objects.requireNonNull(YamlNode.load(SHOP, "plan")), 0, changed::add);

        List<String> differences = new ArrayList<>();
        int accepted = 0;
        int ofTables = 0;
        for (Object plan : changed) {
            @Nullable String refusal = refusal(plan);
            accepted += refusal == null ? 1 : 0;
            if (refusal != null && TABLES.matcher(refusal).find()) {
                ofTables++;
            } else if (schema.accepts(plan) != (refusal == null)) {
                differences.add("%s for %s".formatted(refusal, plan));
            }
        }
        assertThat(differences).isEmpty();
        assertThat(ofTables).isBetween(1, 10);
        assertThat(accepted).isBetween(20, changed.size() - 200);
    }

    private static @Nullable String refusal(Object plan) {
        try {
            AdoptionPlanFile.parse(AdoptionPlanFile.format((Map<?, ?>) plan));
            return null;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    private interface Receiver {
        void changed(Object value);
    }

    /** All values with one change somewhere below. */
    private static void changes(Object value, int depth, Receiver receiver) {
        receiver.changed(value);
        if (value instanceof Map<?, ?> map) {
            map.forEach((name, property) -> {
                boolean isTable = depth == 1 && String.valueOf(map).contains("goes=");
                if (!isTable) {
                    receiver.changed(with(map, copy -> {
                        copy.remove(name);
                        return copy;
                    }));
                }
                if (property instanceof Map || property instanceof List) {
                    changes(property, depth + 1, other -> receiver.changed(put(map, name, other)));
                }
                for (Object other : others(name)) {
                    receiver.changed(put(map, name, other));
                }
            });
            for (String name : List.of("other", "key", "add", "id", "into", "path", "reference", "Upper", "a.b.c")) {
                if (!map.containsKey(name)) {
                    for (Object other : others(name)) {
                        receiver.changed(put(map, name, other));
                    }
                }
            }
        } else if (value instanceof List<?> list) {
            for (int i = 0; i < list.size(); i++) {
                int at = i;
                changes(list.get(i), depth + 1, other -> {
                    List<Object> copy = new ArrayList<>(list);
                    copy.set(at, other);
                    receiver.changed(copy);
                });
            }
            receiver.changed(List.of());
        }
    }

    private static List<Object> others(Object name) {
        List<Object> others = new ArrayList<>(
                List.of(7, true, "", " ", "two words", List.of(), List.of(3), Map.of(), Map.of("goes", "stays")));
        if (!name.equals("key") && !name.equals("to") && !name.equals("table")) {
            others.add("name");
        }
        if (name.equals("id") || name.equals("goes")) {
            others.addAll(List.of("next_id", "kept", "stays"));
        }
        return others;
    }

    private static Map<Object, Object> put(Map<?, ?> map, Object name, Object value) {
        return with(map, copy -> {
            copy.put(name, value);
            return copy;
        });
    }

    private static Map<Object, Object> with(Map<?, ?> map, UnaryOperator<Map<Object, Object>> change) {
        return change.apply(new LinkedHashMap<>(map));
    }
}
