/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import org.shardflake.router.RowOrder;
import org.springframework.beans.PropertyAccessor;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.PageImpl;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Sort;

/**
 * Pages in Spring Data's form of a query over all shards.
 *
 * <pre>{@code
 * Pageable byName = PageRequest.of(0, 20, Sort.by("lastName", "id"));
 * Page<Owner> page = ShardPages.find(shards, byName, pageable -> owners.findByLastNameStartingWith("D", pageable));
 * }</pre>
 *
 * <p>Each shard is asked for its rows up to the end of the page, so the cost grows with the number of the page. The sums of the
 * shards are the total. On one database the query runs as it is.
 */
public final class ShardPages {

    private ShardPages() {}

    /**
     * Runs a query on every shard as {@link ShardTemplate#readAll} does, and merges the rows by the order of the page.
     *
     * <p>The order is compared in Java as PostgreSQL compares numbers, times and ids, and texts of a column with {@code COLLATE
     * "C"}. Its properties have values in all rows. End it with the id, so that rows which are equal otherwise have one order.
     *
     * @param pageable with an order
     * @param query the query of one shard, whose argument it must use
     */
    public static <T> Page<T> find(ShardTemplate shards, Pageable pageable, Function<Pageable, Page<T>> query) {
        if (shards.isOnOneDatabase()) {
            return shards.readAll(() -> query.apply(pageable)).get(0);
        }
        if (pageable.isPaged() && pageable.getSort().isUnsorted()) {
            throw new IllegalArgumentException(
                    "the rows of shards cannot be merged into a page without an order: give the Pageable one that ends with the id, such as Sort.by(\"lastName\", \"id\")");
        }
        Pageable first = pageable.isPaged()
                ? PageRequest.of(0, Math.toIntExact(pageable.getOffset() + pageable.getPageSize()), pageable.getSort())
                : pageable;
        List<Page<T>> pages = shards.readAll(() -> query.apply(first));
        List<T> rows = pages.stream().flatMap(Page::stream).toList();
        if (pageable.getSort().isSorted()) {
            Comparator<T> order = order(pageable.getSort());
            pages.forEach(page -> requireOrder(page.getContent(), order, pageable.getSort()));
            rows = rows.stream().sorted(order).toList();
        }
        if (pageable.isPaged()) {
            rows = rows.stream()
                    .skip(pageable.getOffset())
                    .limit(pageable.getPageSize())
                    .toList();
        }
        long total = pages.stream().mapToLong(Page::getTotalElements).sum();
        return new PageImpl<>(rows, pageable, total);
    }

    /** Refuses rows that the server has sorted in another order, since rows would be missing from the page. */
    private static <T> void requireOrder(List<T> rows, Comparator<T> order, Sort sort) {
        for (int i = 1; i < rows.size(); i++) {
            if (order.compare(rows.get(i - 1), rows.get(i)) > 0) {
                throw new IllegalStateException(
                        "the rows of a shard are not in the order of the page, %s. Check that the query uses the Pageable it is given, and that columns of text in the order have COLLATE \"C\""
                                .formatted(sort));
            }
        }
    }

    private static <T> Comparator<T> order(Sort sort) {
        return sort.stream()
                .map(ShardPages::<T>order)
                .reduce(Comparator::thenComparing)
                .orElseThrow();
    }

    private static <T> Comparator<T> order(Sort.Order order) {
        String name = order.getProperty();
        if (order.isIgnoreCase() || order.getNullHandling() != Sort.NullHandling.NATIVE) {
            throw new IllegalArgumentException(
                    "the order by %s cannot be merged over shards: leave out ignoreCase, nullsFirst and nullsLast"
                            .formatted(name));
        }
        Function<T, Comparable<?>> value = row -> value(row, name);
        return (order.isAscending() ? RowOrder.by(name, value) : RowOrder.byDescending(name, value)).comparator();
    }

    /** A value from the field of an entity or record, or otherwise from its getter. */
    @SuppressWarnings("NullAway") // The order refuses null, and names the property.
    private static Comparable<?> value(Object row, String name) {
        PropertyAccessor fields = PropertyAccessorFactory.forDirectFieldAccess(row);
        return (Comparable<?>)
                (fields.isReadableProperty(name)
                        ? fields.getPropertyValue(name)
                        : PropertyAccessorFactory.forBeanPropertyAccess(row).getPropertyValue(name));
    }
}
